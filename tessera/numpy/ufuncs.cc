#include "tessera/numpy/ufuncs.h"

#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/operators.h"

namespace tessera {

Array iscomplex(const Array& x) {
  return is_complex(x.dtype()) ? not_equal(imag(x), 0) : zeros(x.shape(), bool_);
}
Array isreal(const Array& x) {
  return is_complex(x.dtype()) ? equal(imag(x), 0) : ones(x.shape(), bool_);
}

Array array_equiv(const Array& x, const Array& y) {
  const Shape &a = x.shape(), &b = y.shape();
  for (int64_t d = 1; d <= std::min(a.rank(), b.rank()); ++d) {
    const int64_t m = a[a.rank() - d], n = b[b.rank() - d];
    if (m != n && m != 1 && n != 1) return array(false);
  }
  return all(equal(x, y));
}

namespace {

Array running(const char* name, const Array& x, const CumulativeSumOptions& o, double initial,
              Array (*f)(const Array&, const CumulativeOptions&)) {
  if (x.ndim() == 0) shape_error(name, "expected at least 1 dimension, got {}", describe(x.type()));
  if (!o.axis && x.ndim() > 1)
    value_error(name, "expected an axis of {}, got None; flatten it with ravel for all elements",
                describe(x.type()));
  const int64_t axis = normalize_axis(name, o.axis.value_or(0), x.ndim());
  const Array out = f(x, {.axis = axis, .dtype = o.dtype});
  if (!o.include_initial) return out;
  Shape first = x.shape();
  first[axis] = 1;
  return concatenate({full(first, initial, out.dtype()), out}, axis);
}

}  // namespace

Array cumulative_sum(const Array& x, const CumulativeSumOptions& options) {
  return running("cumulative_sum", x, options, 0, cumsum);
}
Array cumulative_prod(const Array& x, const CumulativeSumOptions& options) {
  return running("cumulative_prod", x, options, 1, cumprod);
}

std::pair<Array, Array> minmax(const Array& x, const ExtremumOptions& options) {
  return {min(x, options), max(x, options)};
}

Array geomspace(const Array& start, const Array& stop, int64_t num, const GeomspaceOptions& o) {
  if (num < 0) value_error("geomspace", "expected num >= 0, got {}", num);
  const std::vector<Array> both{start, stop};
  struct GeomspaceParams {
    int64_t num, axis;
    bool endpoint;
    DType dtype;
  };
  const DType dtype = canonical_dtype(o.dtype.value_or(to_inexact(result_type(both).dtype)));
  return composite("geomspace", GeomspaceParams{num, o.axis, o.endpoint, dtype}, both,
                   [](const GeomspaceParams& p, std::span<const Array> a) {
                     const DType inexact = to_inexact(p.dtype);
                     const Array start = astype(a[0], inexact), stop = astype(a[1], inexact),
                                 turn = sign(start);
                     const Array ratios = logspace(log10(start / turn), log10(stop / turn), p.num,
                                                   {.endpoint = p.endpoint, .dtype = inexact});
                     return astype(moveaxis(turn * ratios, 0, p.axis), p.dtype);
                   });
}

Array matvec(const Array& matrix, const Array& vector) {
  if (matrix.ndim() < 2 || vector.ndim() < 1 || matrix.shape().back() != vector.shape().back())
    shape_error("matvec", "expected matrices [..., m, n] and vectors [..., n], got {} and {}",
                describe(matrix.type()), describe(vector.type()));
  return squeeze(matmul(matrix, expand_dims(vector, -1)), -1);
}

Array vecmat(const Array& vector, const Array& matrix) {
  if (matrix.ndim() < 2 || vector.ndim() < 1 ||
      matrix.shape()[matrix.ndim() - 2] != vector.shape().back())
    shape_error("vecmat", "expected vectors [..., m] and matrices [..., m, n], got {} and {}",
                describe(vector.type()), describe(matrix.type()));
  return squeeze(matmul(expand_dims(conj(vector), -2), matrix), -2);
}

Array cross(const Array& a, const Array& b, const CrossOptions& o) {
  const int64_t axisa = normalize_axis("cross", o.axisa, a.ndim()),
                axisb = normalize_axis("cross", o.axisb, b.ndim());
  if (a.shape()[axisa] != 3 || b.shape()[axisb] != 3)
    shape_error("cross", "expected vectors of three elements along axes {} and {}, got {} and {}",
                axisa, axisb, describe(a.type()), describe(b.type()));
  struct CrossAxes {
    int64_t a, b, c;
  };
  return composite("cross", CrossAxes{axisa, axisb, o.axisc}, {a, b},
                   [](const CrossAxes& p, std::span<const Array> operands) {
                     const Array x = moveaxis(operands[0], p.a, -1),
                                 y = moveaxis(operands[1], p.b, -1);
                     std::vector<Array> out;
                     for (int64_t i = 0; i < 3; ++i) {
                       const auto at = [](const Array& v, int64_t k) {
                         return index_in_dim(v, k % 3, -1, false);
                       };
                       out.push_back(at(x, i + 1) * at(y, i + 2) - at(x, i + 2) * at(y, i + 1));
                     }
                     return moveaxis(stack(out, -1), -1, p.c);
                   });
}

namespace {

struct WindowParams {
  int64_t points;
  DType dtype;
};
// Returns f of the points 0 ... M - 1; ones if there is at most one.
Array window(const char* name, int64_t M, Array (*f)(const Array& n, double last)) {
  if (M < 0) value_error(name, "expected at least 0 points, got {}", M);
  const DType dtype = default_float();
  if (M <= 1) return ones({M}, dtype);
  struct WindowOf {
    WindowParams window;
    Array (*f)(const Array&, double);
  };
  return composite(name, WindowOf{{M, dtype}, f}, {},
                   [](const WindowOf& p, std::span<const Array>) {
                     return p.f(lax::iota(p.window.dtype, {p.window.points}),
                                static_cast<double>(p.window.points - 1));
                   });
}

}  // namespace

Array bartlett(int64_t M) {
  return window("bartlett", M,
                [](const Array& n, double last) -> Array { return 1 - abs(2 * n - last) / last; });
}
Array blackman(int64_t M) {
  return window("blackman", M, [](const Array& n, double last) -> Array {
    return 0.42 - 0.5 * cos(2 * M_PI * n / last) + 0.08 * cos(4 * M_PI * n / last);
  });
}
Array hamming(int64_t M) {
  return window("hamming", M, [](const Array& n, double last) -> Array {
    return 0.54 - 0.46 * cos(2 * M_PI * n / last);
  });
}
Array hanning(int64_t M) {
  return window("hanning", M, [](const Array& n, double last) -> Array {
    return 0.5 * (1 - cos(2 * M_PI * n / last));
  });
}

}  // namespace tessera
