#include "tessera/scipy/spatial/transform.h"

#include <array>
#include <cctype>
#include <cmath>
#include <string>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/searching.h"
#include "tessera/random/random.h"

namespace tessera::scipy::spatial::transform {

namespace {

using Args = std::span<const Array>;

Array at_last(const Array& x, int64_t i) { return index_in_dim(x, i, -1, false); }
Array vector_part(const Array& q) { return slice_in_dim(q, 0, 3, -1); }

void expect_last(const char* name, const Array& x, int64_t extent) {
  if (x.ndim() == 0 || x.shape().back() != extent || is_complex(x.dtype()))
    shape_error(name, "expected real numbers of shape (..., {}), got {}", extent,
                describe(x.type()));
}

// Returns the lengths of vectors along the last dimension, which becomes 1. The derivative at 0 is
// 0.
Array length(const Array& x) {
  const Array squares = sum(square(x), {.axis = -1, .keepdims = true});
  const Array zero = equal(squares, 0);
  return where(zero, 0, sqrt(where(zero, 1, squares)));
}

Array product(const Array& a, const Array& b) {
  const Array ax = at_last(a, 0), ay = at_last(a, 1), az = at_last(a, 2), aw = at_last(a, 3);
  const Array bx = at_last(b, 0), by = at_last(b, 1), bz = at_last(b, 2), bw = at_last(b, 3);
  return stack({aw * bx + ax * bw + ay * bz - az * by, aw * by + ay * bw + az * bx - ax * bz,
                aw * bz + az * bw + ax * by - ay * bx, aw * bw - ax * bx - ay * by - az * bz},
               -1);
}

Array inverse(const Array& q) { return q * astype(array({-1.0, -1.0, -1.0, 1.0}), q.dtype()); }
Array with_positive_w(const Array& q) { return where(slice_in_dim(q, 3, 4, -1) < 0, -q, q); }

double per_unit(const AngleOptions& o) { return o.degrees ? M_PI / 180 : 1; }

// The axes of a sequence, and whether they rotate with the object.
struct Sequence {
  std::vector<int64_t> axes;
  bool intrinsic = false;
};
Sequence sequence_of(const char* name, std::string_view seq) {
  Sequence out;
  for (char c : seq) {
    const int lower = std::tolower(static_cast<unsigned char>(c));
    if (lower < 'x' || lower > 'z' || (!out.axes.empty() && (c != lower) != out.intrinsic))
      value_error(name, "expected up to three of x, y and z, or of X, Y and Z, got \"{}\"", seq);
    out.intrinsic = c != lower;
    out.axes.push_back(lower - 'x');
  }
  if (out.axes.empty() || out.axes.size() > 3)
    value_error(name, "expected up to three of x, y and z, or of X, Y and Z, got \"{}\"", seq);
  return out;
}

Array about_axis(int64_t axis, const Array& angle) {
  std::vector<Array> parts(4, zeros_like(angle));
  parts[static_cast<size_t>(axis)] = sin(angle / 2);
  parts[3] = cos(angle / 2);
  return stack(parts, -1);
}

Array in_floats(const Array& x) { return promote(x, Promotion::kInexact); }

Array of_matrix(const NoParams&, Args a) {
  const Array m = in_floats(a[0]);
  const auto at = [&](int64_t i, int64_t j) {
    return index_in_dim(index_in_dim(m, i, -2, false), j, -1, false);
  };
  // Four candidates are the quaternion times different factors. The longest one is precise
  // (Shepperd, "Quaternion from rotation matrix", 1978).
  const Array t = at(0, 0) + at(1, 1) + at(2, 2);
  std::vector<Array> lengths{at(0, 0), at(1, 1), at(2, 2), t}, candidates;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    std::vector<Array> q(4);
    q[static_cast<size_t>(i)] = 1 - t + 2 * at(i, i);
    q[static_cast<size_t>(j)] = at(j, i) + at(i, j);
    q[static_cast<size_t>(k)] = at(k, i) + at(i, k);
    q[3] = at(k, j) - at(j, k);
    candidates.push_back(stack(q, -1));
  }
  candidates.push_back(
      stack({at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1), 1 + t}, -1));
  const Array longest = expand_dims(argmax(stack(lengths, -1), {.axis = -1}), -1);
  Array out = candidates[3];
  for (int64_t i = 0; i < 3; ++i)
    out = where(equal(longest, i), candidates[static_cast<size_t>(i)], out);
  return out / length(out);
}

struct EulerParams {
  std::array<int64_t, 3> axes;
  bool intrinsic;
};

// Returns Euler angles (Bernardes and Viollet, "Quaternion to Euler angles conversion: a direct,
// general and computationally efficient method", 2022).
Array euler_angles(const EulerParams& p, Args args) {
  const Array& q = args[0];
  const int64_t i = p.axes[0], j = p.axes[1];
  const bool symmetric = i == p.axes[2];
  const int64_t k = symmetric ? 3 - i - j : p.axes[2];
  const double sign = static_cast<double>((i - j) * (j - k) * (k - i)) / 2;
  const Array w = at_last(q, 3), qi = at_last(q, i), qj = at_last(q, j), qk = at_last(q, k) * sign;
  const Array a = symmetric ? w : w - qj, b = symmetric ? qi : qi + qk;
  const Array c = symmetric ? qj : qj + w, d = symmetric ? qk : qk - qi;
  Array second = 2 * arctan2(hypot(c, d), hypot(a, b));
  constexpr double kClose = 1e-7;
  const Array none = abs(second) <= kClose, half = abs(second - M_PI) <= kClose;
  const Array half_sum = arctan2(b, a), half_difference = arctan2(d, c);
  const Array undetermined = where(none, 2 * half_sum, (p.intrinsic ? 2 : -2) * half_difference);
  const Array singular = none | half;
  // For axes that rotate with the object, the sequence is reversed.
  Array forth = half_sum - half_difference, back = half_sum + half_difference;
  Array first = p.intrinsic ? back : forth, third = p.intrinsic ? forth : back;
  first = where(singular, undetermined, first);
  third = where(singular, 0, third);
  if (!symmetric) {
    (p.intrinsic ? first : third) = sign * (p.intrinsic ? first : third);
    second = second - M_PI / 2;
  }
  const auto wrapped = [](const Array& x) {
    return where(x < -M_PI, x + 2 * M_PI, where(x > M_PI, x - 2 * M_PI, x));
  };
  return stack({wrapped(first), wrapped(second), wrapped(third)}, -1);
}

}  // namespace

Rotation Rotation::from_quat(const Array& quat) {
  expect_last("Rotation::from_quat", quat, 4);
  const Array q = in_floats(quat);
  return {q / length(q)};
}

Rotation Rotation::from_matrix(const Array& matrix) {
  if (matrix.ndim() < 2 || matrix.shape().back() != 3 || matrix.shape()[matrix.ndim() - 2] != 3 ||
      is_complex(matrix.dtype()))
    shape_error("Rotation::from_matrix", "expected real matrices (..., 3, 3), got {}",
                describe(matrix.type()));
  return {composite("Rotation::from_matrix", {}, {matrix}, of_matrix)};
}

Rotation Rotation::from_rotvec(const Array& rotvec, const AngleOptions& o) {
  expect_last("Rotation::from_rotvec", rotvec, 3);
  return {composite(
      "Rotation::from_rotvec", {}, {in_floats(rotvec) * per_unit(o)}, [](const NoParams&, Args a) {
        const Array angle = length(a[0]), squared = square(angle);
        const Array small = angle <= 1e-3;
        const Array safe = where(small, 1, angle);
        const Array scale =
            where(small, 0.5 - squared / 48 + square(squared) / 3840, sin(safe / 2) / safe);
        return tessera::concatenate({a[0] * scale, cos(angle / 2)}, -1);
      })};
}

Rotation Rotation::from_mrp(const Array& mrp) {
  expect_last("Rotation::from_mrp", mrp, 3);
  return {composite("Rotation::from_mrp", {}, {mrp}, [](const NoParams&, Args a) {
    const Array m = in_floats(a[0]), squares = sum(square(m), {.axis = -1, .keepdims = true});
    return tessera::concatenate({2 * m, 1 - squares}, -1) / (1 + squares);
  })};
}

Rotation Rotation::from_euler(std::string_view seq, const Array& angles, const AngleOptions& o) {
  const Sequence sequence = sequence_of("Rotation::from_euler", seq);
  const auto count = static_cast<int64_t>(sequence.axes.size());
  Array of = in_floats(angles) * per_unit(o);
  if (count == 1 && (of.ndim() == 0 || of.shape().back() != 1)) of = expand_dims(of, -1);
  expect_last("Rotation::from_euler", of, count);
  Array out;
  for (int64_t i = 0; i < count; ++i) {
    const Array turn = about_axis(sequence.axes[static_cast<size_t>(i)], at_last(of, i));
    out = i == 0 ? turn : sequence.intrinsic ? product(out, turn) : product(turn, out);
  }
  return {out};
}

Rotation Rotation::identity(std::optional<int64_t> num) {
  const Array one = array({0.0, 0.0, 0.0, 1.0});
  if (!num) return {one};
  if (*num < 0) value_error("Rotation::identity", "expected num >= 0, got {}", *num);
  return {tessera::broadcast_to(one, {*num, 4})};
}

Rotation Rotation::random(const tessera::random::Key& key, std::optional<int64_t> num) {
  if (num && *num < 0) value_error("Rotation::random", "expected num >= 0, got {}", *num);
  return from_quat(tessera::random::normal(key, num ? Shape{*num, 4} : Shape{4}));
}

Rotation Rotation::concatenate(const std::vector<Rotation>& rotations) {
  std::vector<Array> parts;
  for (const Rotation& r : rotations) parts.push_back(tessera::atleast_2d(r.quat));
  return {tessera::concatenate(parts)};
}

Array Rotation::as_quat(const QuatOptions& o) const {
  const Array q = o.canonical ? with_positive_w(quat) : quat;
  return o.scalar_first ? roll(q, 1, -1) : q;
}

Array Rotation::as_matrix() const {
  return composite("Rotation::as_matrix", {}, {quat}, [](const NoParams&, Args args) {
    const Array &q = args[0], x = at_last(q, 0), y = at_last(q, 1), z = at_last(q, 2),
                w = at_last(q, 3);
    const auto row = [](const Array& a, const Array& b, const Array& c) {
      return stack({a, b, c}, -1);
    };
    return stack({row(x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)),
                  row(2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)),
                  row(2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w)},
                 -2);
  });
}

Array Rotation::as_rotvec(const AngleOptions& o) const {
  const Array radians = composite("Rotation::as_rotvec", {}, {quat}, [](const NoParams&, Args a) {
    const Array q = with_positive_w(a[0]), v = vector_part(q);
    const Array angle = 2 * arctan2(length(v), slice_in_dim(q, 3, 4, -1)), squared = square(angle);
    const Array small = angle <= 1e-3, safe = where(small, 1, angle);
    return v * where(small, 2 + squared / 12 + 7 * square(squared) / 2880, safe / sin(safe / 2));
  });
  return radians / per_unit(o);
}

Array Rotation::as_mrp() const {
  const Array q = with_positive_w(quat);
  return vector_part(q) / (1 + slice_in_dim(q, 3, 4, -1));
}

Array Rotation::as_euler(std::string_view seq, const AngleOptions& o) const {
  const char* name = "Rotation::as_euler";
  Sequence s = sequence_of(name, seq);
  if (s.axes.size() != 3 || s.axes[0] == s.axes[1] || s.axes[1] == s.axes[2])
    value_error(name, "expected three axes, neighbours different, got \"{}\"", seq);
  if (s.intrinsic) std::swap(s.axes[0], s.axes[2]);
  const EulerParams params{{s.axes[0], s.axes[1], s.axes[2]}, s.intrinsic};
  return composite(name, params, {quat}, euler_angles) / per_unit(o);
}

Array Rotation::apply(const Array& vectors, const ApplyOptions& o) const {
  expect_last("Rotation::apply", vectors, 3);
  const Array m = as_matrix();
  return squeeze(matmul(o.inverse ? matrix_transpose(m) : m, expand_dims(vectors, -1)), -1);
}

Rotation Rotation::inv() const { return {inverse(quat)}; }

Array Rotation::magnitude() const {
  return 2 * arctan2(at_last(length(vector_part(quat)), 0), abs(at_last(quat, 3)));
}

Rotation Rotation::mean(const std::optional<Array>& weights) const {
  const Array q = tessera::atleast_2d(quat);
  if (weights && weights->shape() != Shape{q.shape()[0]})
    shape_error("Rotation::mean", "expected one weight a rotation, got {} for {}",
                describe(weights->type()), describe(quat.type()));
  const Array w = weights ? *weights : ones({q.shape()[0]}, q.dtype());
  const Array k = matmul(transpose(q) * w, q);
  const Array v = tessera::linalg::eigh(k).eigenvectors;
  return from_quat(index_in_dim(v, 3, 1, false));
}

Rotation operator*(const Rotation& a, const Rotation& b) {
  return {composite("Rotation::multiply", {}, {a.quat, b.quat}, [](const NoParams&, Args x) {
    const std::vector<Array> same = promote_and_broadcast("Rotation::multiply", x);
    const Array q = product(same[0], same[1]);
    return q / length(q);
  })};
}

Slerp::Slerp(const Array& times, const Rotation& rotations) : times_(times), rotations_(rotations) {
  const char* name = "Slerp";
  const Array& q = rotations.quat;
  if (q.ndim() != 2 || q.shape()[0] < 2 || times.shape() != Shape{q.shape()[0]})
    shape_error(name, "expected a time for each of at least two rotations, got {} for {}",
                describe(times.type()), describe(q.type()));
  if (!times.is_tracer()) {
    const std::vector<double> known = to_vector<double>(times);
    for (size_t i = 1; i < known.size(); ++i)
      if (!(known[i - 1] < known[i]))
        value_error(name, "expected ascending times, got {} before {}", known[i - 1], known[i]);
  }
  const int64_t n = q.shape()[0];
  const Rotation from{slice_in_dim(q, 0, n - 1)}, to{slice_in_dim(q, 1, n)};
  rotvecs_ = (from.inv() * to).as_rotvec();
}

Rotation Slerp::operator()(const Array& times) const {
  const int64_t n = times_.size();
  const Array i = clip(searchsorted(times_, times) - 1, 0, n - 2);
  const Array from = take(times_, i), part = (times - from) / (take(times_, i + 1) - from);
  const Rotation start{take(rotations_.quat, i, {.axis = 0})};
  return start * Rotation::from_rotvec(take(rotvecs_, i, {.axis = 0}) * expand_dims(part, -1));
}

}  // namespace tessera::scipy::spatial::transform
