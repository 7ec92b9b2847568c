#include "tessera/numpy/linalg.h"

#include <algorithm>
#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/factor/cholesky.h"
#include "tessera/ops/factor/eig.h"
#include "tessera/ops/factor/eigh.h"
#include "tessera/ops/factor/lu.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/qr.h"
#include "tessera/ops/factor/svd.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::linalg {

using namespace ir;
namespace factor = ops::factor;

namespace {

using Arrays = std::vector<Array>;
using Args = std::span<const Array>;

Array inexact(const Array& x) { return promote(x, Promotion::kInexact); }

void expect_matrix(const char* op, const Array& a) {
  if (a.ndim() < 2)
    shape_error(op, "expected a matrix, or a batch of them: rank 2 or more, got {}; reshape it",
                describe(a.type()));
}
void expect_square(const char* op, const Array& a) {
  expect_matrix(op, a);
  const int64_t rank = a.ndim();
  if (a.shape()[rank - 2] != a.shape()[rank - 1])
    shape_error(op, "expected square matrices [..., n, n], got {}; slice or pad it",
                describe(a.type()));
}

int64_t rows_of(const Array& a) { return a.shape()[a.ndim() - 2]; }
int64_t cols_of(const Array& a) { return a.shape()[a.ndim() - 1]; }
double epsilon_of(const Array& a) { return finfo(real_dtype(a.dtype())).eps; }

// Returns x[..., i].
Array at_end(const Array& x, int64_t i) {
  Dims start(x.shape().size(), 0), limit = x.shape();
  start.back() = i;
  limit.back() = i + 1;
  return lax::squeeze(lax::slice(x, start, limit), {x.ndim() - 1});
}

Array squares(const Array& x) {
  return is_complex(x.dtype()) ? lax::real(lax::mul(x, lax::conj(x))) : lax::mul(x, x);
}

struct Tolerance {
  std::optional<double> value;
};

}  // namespace

// --- Factorisations ---

Array cholesky(const Array& a, const CholeskyOptions& o) {
  expect_square("cholesky", a);
  return composite("linalg.cholesky", o, {a}, [](const CholeskyOptions& p, Args x) {
    const Array l = lax::linalg::cholesky(inexact(x[0]), p.symmetrize_input);
    return p.upper ? factor::adjoint(l) : l;
  });
}

namespace {
struct Flag {
  bool value = false;
};
}  // namespace

Qr qr(const Array& a, QrMode mode) {
  expect_matrix("qr", a);
  const bool full = mode == QrMode::kComplete;
  const Arrays out = composite("linalg.qr", Flag{full}, {a}, [](const Flag& p, Args x) -> Arrays {
    const lax::linalg::Qr f = lax::linalg::qr(inexact(x[0]), p.value);
    return {f.q, f.r};
  });
  return {out[0], out[1]};
}

Svd svd(const Array& a, bool full_matrices) {
  expect_matrix("svd", a);
  const Arrays out =
      composite("linalg.svd", Flag{full_matrices}, {a}, [](const Flag& p, Args x) -> Arrays {
        const lax::linalg::Svd f = lax::linalg::svd(inexact(x[0]), p.value);
        return {f.u, f.s, f.vh};
      });
  return {out[0], out[1], out[2]};
}

Array svdvals(const Array& a) {
  expect_matrix("svdvals", a);
  return composite("linalg.svdvals", {}, {a},
                   [](const NoParams&, Args x) { return lax::linalg::svdvals(inexact(x[0])); });
}

Eigen eigh(const Array& a, const EighOptions& o) {
  expect_square("eigh", a);
  const Arrays out = composite("linalg.eigh", o, {a}, [](const EighOptions& p, Args x) -> Arrays {
    const lax::linalg::Eigh f = lax::linalg::eigh(inexact(x[0]), p.lower, p.symmetrize_input);
    return {f.w, f.v};
  });
  return {out[0], out[1]};
}

Array eigvalsh(const Array& a, const EighOptions& o) { return eigh(a, o).eigenvalues; }

Eigen eig(const Array& a) {
  expect_square("eig", a);
  const Arrays out = composite("linalg.eig", {}, {a}, [](const NoParams&, Args x) -> Arrays {
    const lax::linalg::Eig f = lax::linalg::eig(inexact(x[0]), false, true);
    return {f.w, f.vr};
  });
  return {out[0], out[1]};
}

Array eigvals(const Array& a) {
  expect_square("eigvals", a);
  return composite("linalg.eigvals", {}, {a}, [](const NoParams&, Args x) -> Array {
    return lax::linalg::eig(inexact(x[0]), false, false).w;
  });
}

// --- Equations ---

namespace {

// Returns both arrays of matrices with their batch dimensions broadcast to a common shape.
std::pair<Array, Array> same_batches(const char* op, const Array& a, const Array& b) {
  auto batch = [](const Array& x) { return Shape(x.shape().begin(), x.shape().end() - 2); };
  const Shape shapes[] = {batch(a), batch(b)};
  const Shape common = broadcast_shapes(op, shapes);
  auto to = [&](const Array& x) {
    Shape shape = common;
    shape.push_back(rows_of(x));
    shape.push_back(cols_of(x));
    return broadcast_array(op, x, shape);
  };
  return {to(a), to(b)};
}

}  // namespace

Array solve(const Array& a, const Array& b) {
  expect_square("solve", a);
  const bool vector = b.ndim() == 1;
  if (b.ndim() == 0 || b.shape()[vector ? 0 : b.ndim() - 2] != rows_of(a))
    shape_error("solve", "expected b of shape (m,) or (..., m, k) for a of {}, got {}; reshape it",
                describe(a.type()), describe(b.type()));
  return composite("linalg.solve", {}, {a, b}, [](const NoParams&, Args x) {
    const bool vector = x[1].ndim() == 1;
    const Arrays p = promote_dtypes(x, Promotion::kInexact);
    const Array right = vector ? lax::expand_dims(p[1], {1}) : p[1];
    const auto [left, columns] = same_batches("solve", p[0], right);
    const Array out = lax::linalg::solve(left, columns);
    return vector ? lax::squeeze(out, {out.ndim() - 1}) : out;
  });
}

Array inv(const Array& a) {
  expect_square("inv", a);
  return composite("linalg.inv", {}, {a}, [](const NoParams&, Args x) {
    const Array p = inexact(x[0]);
    return lax::linalg::solve(p, factor::identity_like(p, cols_of(p)));
  });
}

Array pinv(const Array& a, std::optional<double> rtol) {
  expect_matrix("pinv", a);
  return composite("linalg.pinv", Tolerance{rtol}, {a}, [](const Tolerance& rtol, Args x) {
    const Array p = inexact(x[0]);
    if (p.size() == 0) return factor::transposed(p);
    const double limit = rtol.value.value_or(
        10 * static_cast<double>(std::max(rows_of(p), cols_of(p))) * epsilon_of(p));
    const lax::linalg::Svd f = lax::linalg::svd(p, false);
    const Array largest = lax::expand_dims(at_end(f.s, 0), {f.s.ndim() - 1});
    const Array kept = f.s > largest * limit;
    const Array inverse = where(kept, 1 / where(kept, f.s, 1), 0);
    const Array v = factor::adjoint(f.vh);
    return factor::matmul(
        v * factor::in_dtype_of(factor::as_rows(astype(inverse, f.s.dtype()), v.shape()), v),
        factor::adjoint(f.u));
  });
}

Array tensorsolve(const Array& a, const Array& b, const Axes& axes) {
  const Dims last = axes.all() ? Dims{} : axes.ascending("tensorsolve", a.ndim());
  Dims order;
  for (int64_t d = 0; d < a.ndim(); ++d)
    if (std::find(last.begin(), last.end(), d) == last.end()) order.push_back(d);
  order.insert(order.end(), last.begin(), last.end());
  const Array m = lax::transpose(a, order);
  const int64_t rank = b.ndim();
  const Shape &shape = m.shape(), &right = b.shape();
  const bool starts = m.ndim() >= rank && std::equal(right.begin(), right.end(), shape.begin());
  const Shape rest = starts ? Shape(shape.begin() + rank, shape.end()) : Shape{};
  if (!starts || rest.elements() != b.size())
    shape_error("tensorsolve",
                "expected a whose first dimensions are b's and whose others have as many elements "
                "together, got {} and {}; move axes to the end with `axes`",
                describe(m.type()), describe(b.type()));
  return reshape(solve(reshape(m, {b.size(), b.size()}), reshape(b, {b.size()})), rest);
}

Array tensorinv(const Array& a, int64_t ind) {
  const Shape& shape = a.shape();
  if (ind <= 0) value_error("tensorinv", "expected ind of 1 or more, got {}", ind);
  const int64_t count = std::min(ind, a.ndim());
  const Shape first(shape.begin(), shape.begin() + count), rest(shape.begin() + count, shape.end());
  if (first.elements() != rest.elements())
    shape_error("tensorinv",
                "expected as many elements in the first {} dimensions as in the others, got {}; "
                "reshape it, or give another ind",
                ind, describe(a.type()));
  Shape turned = rest;
  turned.insert(turned.end(), first.begin(), first.end());
  return reshape(inv(reshape(a, {first.elements(), first.elements()})), turned);
}

Lstsq lstsq(const Array& a, const Array& b, std::optional<double> rcond) {
  if (a.ndim() != 2 || (b.ndim() != 1 && b.ndim() != 2) || a.shape()[0] != b.shape()[0])
    shape_error("lstsq", "expected a of shape (m, n) and b of (m,) or (m, k), got {} and {}",
                describe(a.type()), describe(b.type()));
  const Arrays out = composite(
      "linalg.lstsq", Tolerance{rcond}, {a, b}, [](const Tolerance& rcond, Args args) -> Arrays {
        const bool vector = args[1].ndim() == 1;
        const Arrays p = promote_dtypes(args, Promotion::kInexact);
        const Array& m = p[0];
        const Array right = vector ? lax::expand_dims(p[1], {1}) : p[1];
        const double limit =
            !rcond.value ? epsilon_of(m) * static_cast<double>(std::max(rows_of(m), cols_of(m)))
            : *rcond.value < 0 ? epsilon_of(m)
                               : *rcond.value;
        const lax::linalg::Svd f = lax::linalg::svd(m, false);
        const bool empty = m.size() == 0;
        const Array kept = empty ? f.s > 0 : logical_and(f.s > 0, f.s >= at_end(f.s, 0) * limit);
        const Array inverse = astype(where(kept, 1 / where(kept, f.s, 1), 0), m.dtype());
        const Array projected = factor::matmul(factor::adjoint(f.u), right);
        const Array x = factor::matmul(factor::adjoint(f.vh),
                                       projected * factor::as_columns(inverse, projected.shape()));
        const Array left = right - factor::matmul(m, x);
        return {vector ? lax::squeeze(x, {1}) : x, sum(squares(left), {.axis = 0}), sum(kept), f.s};
      });
  return {out[0], out[1], out[2], out[3]};
}

// --- Numbers of a matrix ---

Array matrix_rank(const Array& a, std::optional<double> rtol) {
  return composite("linalg.matrix_rank", Tolerance{rtol}, {a}, [](const Tolerance& p, Args x) {
    const Array m = inexact(x[0]);
    if (m.ndim() < 2) return astype(any(m != 0), int32);
    const Array s = lax::linalg::svdvals(m);
    if (s.size() == 0) return sum(s > 0, {.axis = -1});
    const double limit = static_cast<double>(std::max(rows_of(m), cols_of(m))) * epsilon_of(m);
    const Array bound = p.value ? s * 0 + *p.value : max(s, {.axis = -1, .keepdims = true}) * limit;
    return sum(s > bound, {.axis = -1});
  });
}

Array trace(const Array& a, int64_t offset) {
  expect_matrix("trace", a);
  return tessera::trace(a, {.offset = offset, .axis1 = -2, .axis2 = -1});
}

Array diagonal(const Array& a, int64_t offset) {
  expect_matrix("diagonal", a);
  return tessera::diagonal(a, {.offset = offset, .axis1 = -2, .axis2 = -1});
}

Array matrix_transpose(const Array& a) {
  expect_matrix("matrix_transpose", a);
  return tessera::matrix_transpose(a);
}

// --- Norms ---

namespace {

struct NormParams {
  double p = 0;
  std::string name;
  Dims axes;
  bool keepdims = false;
};

Array vector_norm_of(const Array& x, const NormParams& p) {
  const Axes axis(p.axes);
  if (p.p == 2) return sqrt(sum(squares(x), {.axis = axis, .keepdims = p.keepdims}));
  const Array size = abs(x);
  if (p.p == INFINITY) return max(size, {.axis = axis, .keepdims = p.keepdims, .initial = 0});
  if (p.p == -INFINITY) return min(size, {.axis = axis, .keepdims = p.keepdims});
  if (p.p == 0) return sum(astype(x != 0, size.dtype()), {.axis = axis, .keepdims = p.keepdims});
  if (p.p == 1) return sum(size, {.axis = axis, .keepdims = p.keepdims});
  // A whole exponent multiplies, which is faster and more precise than a power of any exponent.
  const bool whole = std::abs(p.p) <= 64 && p.p == std::round(p.p);
  const Array exponent = whole ? Array(static_cast<int>(p.p)) : Array(p.p);
  return power(sum(power(size, exponent), {.axis = axis, .keepdims = p.keepdims}), 1 / p.p);
}

Array matrix_norm_of(const Array& x, const NormParams& p) {
  if (p.name == "fro") return sqrt(sum(squares(x), {.axis = Axes(p.axes), .keepdims = p.keepdims}));
  Array out;
  if (p.name == "nuc" || std::abs(p.p) == 2) {
    const Array s = lax::linalg::svdvals(moveaxis(x, Axes(p.axes), Dims{-2, -1}));
    out = p.name == "nuc" ? sum(s, {.axis = -1})
          : p.p == 2      ? max(s, {.axis = -1, .initial = 0})
                          : min(s, {.axis = -1});
  } else {
    // Sums along one axis, then the largest or smallest sum along the other.
    const bool columns = std::abs(p.p) == 1;
    const int64_t first = p.axes[columns ? 0 : 1];
    int64_t second = p.axes[columns ? 1 : 0];
    if (second > first) --second;
    const Array sums = sum(abs(x), {.axis = first});
    out = p.p > 0 ? max(sums, {.axis = second, .initial = 0}) : min(sums, {.axis = second});
  }
  if (!p.keepdims) return out;
  Dims places = p.axes;
  std::sort(places.begin(), places.end());
  return lax::expand_dims(out, places);
}

Array norm_over(const char* op, const Array& x, const Axes& axis, const std::optional<Order>& ord,
                bool keepdims) {
  NormParams p{.p = ord ? ord->p() : 2,
               .name = ord ? ord->name() : "",
               .axes = axis.in_order(op, x.ndim()),
               .keepdims = keepdims};
  const int64_t count = p.axes.rank();
  const bool all_elements = !ord && axis.all();
  if (!all_elements && count != 1 && count != 2)
    value_error(op, "expected one axis, of vectors, or two, of matrices, got {} for {}; name them",
                count, describe(x.type()));
  const bool matrices = !all_elements && count == 2;
  if (matrices && !ord) p.name = "fro";
  const bool known = p.name.empty()
                         ? !matrices || std::abs(p.p) == 1 || std::abs(p.p) == 2 || std::isinf(p.p)
                         : matrices && (p.name == "fro" || p.name == "nuc");
  if (!known)
    value_error(
        op, "expected ord to be a number{}, got {}",
        matrices ? " of 1, -1, 2, -2, inf, -inf, \"fro\" or \"nuc\" for matrices" : " for vectors",
        p.name.empty() ? std::to_string(p.p) : p.name);
  if (matrices)
    return composite("linalg.norm", p, {x},
                     [](const NormParams& q, Args a) { return matrix_norm_of(inexact(a[0]), q); });
  return composite("linalg.norm", p, {x},
                   [](const NormParams& q, Args a) { return vector_norm_of(inexact(a[0]), q); });
}

}  // namespace

Array norm(const Array& x, const NormOptions& o) {
  return norm_over("norm", x, o.axis, o.ord, o.keepdims);
}

Array vector_norm(const Array& x, const VectorNormOptions& o) {
  const NormParams p{o.ord, "", o.axis.in_order("vector_norm", x.ndim()), o.keepdims};
  return composite("linalg.vector_norm", p, {x},
                   [](const NormParams& q, Args a) { return vector_norm_of(inexact(a[0]), q); });
}

Array matrix_norm(const Array& x, const Order& ord, bool keepdims) {
  expect_matrix("matrix_norm", x);
  return norm_over("matrix_norm", x, Dims{-2, -1}, ord, keepdims);
}

Array cond(const Array& a, const Order& ord) {
  expect_matrix("cond", a);
  if (a.size() == 0)
    value_error("cond", "expected matrices with elements, got {}", describe(a.type()));
  const bool singular = ord.name().empty() && std::abs(ord.p()) == 2;
  if (!singular) expect_square("cond", a);
  Array ratio;
  if (singular) {
    const Array s = svdvals(a);
    const Array largest = at_end(s, 0), smallest = at_end(s, s.shape().back() - 1);
    if (ord.p() == 2) return largest / smallest;
    ratio = smallest / largest;
  } else {
    ratio = matrix_norm(a, ord) * matrix_norm(inv(a), ord);
  }
  const Array broken = any(isnan(a), {.axis = {-2, -1}});
  return where(logical_and(isnan(ratio), logical_not(broken)), INFINITY, ratio);
}

// --- Functions and products ---

Array matrix_power(const Array& a, int64_t n) {
  expect_square("matrix_power", a);
  if (n == 0) return factor::identity_like(a, cols_of(a));
  Array power = n < 0 ? inv(a) : a, out;
  for (uint64_t left = n < 0 ? uint64_t{0} - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
       ;) {
    if (left & 1) out = out.defined() ? matmul(out, power) : power;
    left >>= 1;
    if (left == 0) return out;
    power = matmul(power, power);
  }
}

namespace {

// Coefficients of the diagonal Pade approximant of exp, and the largest norm for which it is
// precise (Higham, "The scaling and squaring method for the matrix exponential revisited", 2005).
struct Pade {
  std::vector<double> b;
  double norm;
};
const Pade& pade_of(DType dtype) {
  static const Pade single{{17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1},
                           3.925724783138660},
      wide{{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800,
            129060195264000, 10559470521600, 670442572800, 33522128640, 1323241920, 40840800,
            960960, 16380, 182, 1},
           5.371920351148152};
  return real_dtype(dtype) == float64 ? wide : single;
}

constexpr int kSquarings = 16;

}  // namespace

Array expm(const Array& a) {
  expect_square("expm", a);
  return composite("linalg.expm", {}, {a}, [](const NoParams&, Args args) {
    const Array x = inexact(args[0]);
    const int64_t n = cols_of(x);
    if (x.size() == 0) return x;
    const Pade& pade = pade_of(x.dtype());
    const Array size = lax::stop_gradient(
        max(sum(abs(x), {.axis = -2, .keepdims = true}), {.axis = -1, .keepdims = true}));
    const Array times = maximum(0, ceil(log2(size / pade.norm)));
    const Array scaled = x / astype(exp2(times), x.dtype());
    // exp(x) is (v + u) / (v - u) with an odd u and an even v.
    const Array square = factor::matmul(scaled, scaled), one = factor::identity_like(x, n);
    Array even = one, odd_sum, even_sum, powers;
    for (size_t k = 0; k < pade.b.size(); k += 2) {
      const Array& term = even;
      even_sum = k == 0 ? term * pade.b[k] : even_sum + term * pade.b[k];
      odd_sum = k == 0 ? term * pade.b[k + 1] : odd_sum + term * pade.b[k + 1];
      if (k + 2 < pade.b.size()) even = k == 0 ? square : factor::matmul(even, square);
    }
    const Array u = factor::matmul(scaled, odd_sum);
    Array out = lax::linalg::solve(even_sum - u, even_sum + u);
    for (int k = 0; k < kSquarings; ++k) out = where(times > k, factor::matmul(out, out), out);
    return where(times > kSquarings, NAN, out);
  });
}

Array cross(const Array& x, const Array& y, int64_t axis) {
  const int64_t ax = normalize_axis("cross", axis, x.ndim()),
                ay = normalize_axis("cross", axis, y.ndim());
  if (x.shape()[ax] != 3 || y.shape()[ay] != 3)
    shape_error("cross", "expected vectors of three elements along axis {}, got {} and {}", axis,
                describe(x.type()), describe(y.type()));
  struct CrossParams {
    int64_t x, y, out;  // axes
  };
  return composite(
      "linalg.cross", CrossParams{ax, ay, axis}, {x, y}, [](const CrossParams& axes, Args args) {
        const Arrays p = promote_and_broadcast(
            "cross", Arrays{moveaxis(args[0], axes.x, -1), moveaxis(args[1], axes.y, -1)},
            Promotion::kNumeric);
        auto part = [&](int k, int64_t i) { return at_end(p[k], i); };
        Arrays out;
        for (int64_t i = 0; i < 3; ++i) {
          const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
          out.push_back(part(0, j) * part(1, k) - part(0, k) * part(1, j));
        }
        return moveaxis(stack(out, -1), -1, axes.out);
      });
}

Array outer(const Array& x, const Array& y) {
  if (x.ndim() != 1 || y.ndim() != 1)
    shape_error("outer", "expected two vectors, got {} and {}; ravel them", describe(x.type()),
                describe(y.type()));
  return tessera::outer(x, y);
}

namespace {

// Returns the product of arrays i to j, which is split after array split[i][j].
Array product_of(const Arrays& x, const std::vector<std::vector<size_t>>& split, size_t i,
                 size_t j) {
  if (i == j) return x[i];
  return matmul(product_of(x, split, i, split[i][j]), product_of(x, split, split[i][j] + 1, j));
}

}  // namespace

Array multi_dot(const std::vector<Array>& arrays) {
  const size_t n = arrays.size();
  if (n < 2) value_error("multi_dot", "expected two arrays or more, got {}", n);
  std::vector<double> sizes;
  for (size_t k = 0; k < n; ++k) {
    const Array& x = arrays[k];
    const bool end = k == 0 || k + 1 == n;
    if (x.ndim() != 2 && !(end && x.ndim() == 1))
      shape_error("multi_dot", "expected matrices, the first and last may be vectors, got {}",
                  describe(x.type()));
    if (k > 0 && arrays[k - 1].shape().back() != x.shape()[0])
      shape_error("multi_dot", "expected neighbours whose dimensions agree, got {} and {}",
                  describe(arrays[k - 1].type()), describe(x.type()));
    if (k == 0) sizes.push_back(x.ndim() == 1 ? 1 : static_cast<double>(x.shape()[0]));
    sizes.push_back(k > 0 && x.ndim() == 1 ? 1 : static_cast<double>(x.shape().back()));
  }
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length)
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = INFINITY;
      for (size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (c >= cost[i][j]) continue;
        cost[i][j] = c;
        split[i][j] = k;
      }
    }
  return product_of(arrays, split, 0, n - 1);
}

}  // namespace tessera::linalg
