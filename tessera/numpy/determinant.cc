// det and slogdet of linalg.h.
#include "tessera/compile/composite.h"
#include "tessera/compile/custom_derivatives.h"
#include "tessera/ir/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/sorting.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/factor/lu.h"
#include "tessera/ops/factor/matrix_math.h"
#include "tessera/ops/factor/triangular_solve.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::linalg {

using namespace ir;
namespace factor = ops::factor;

namespace {

using Args = std::span<const Array>;

void expect_square(const char* op, const Array& a) {
  const int64_t rank = a.ndim();
  if (rank < 2)
    shape_error(op, "expected a matrix, or a batch of them: rank 2 or more, got {}; reshape it",
                describe(a.type()));
  if (a.shape()[rank - 2] != a.shape()[rank - 1])
    shape_error(op, "expected square matrices [..., n, n], got {}; slice or pad it",
                describe(a.type()));
}

Array element(const Array& a, int64_t i, int64_t j) {
  return lax::squeeze(factor::block_of(a, i, i + 1, j, j + 1), {a.ndim() - 2, a.ndim() - 1});
}

// Returns x[..., i:i + 1].
Array one_at_end(const Array& x, int64_t i) {
  Dims start(x.shape().size(), 0), limit = x.shape();
  start.back() = i;
  limit.back() = i + 1;
  return lax::slice(x, start, limit);
}

// Returns 1 if the number of exchanged rows is even, otherwise -1.
Array parity_of(const lax::linalg::Lu& f, DType dtype) {
  const Array places = lax::iota(int32, f.pivots.shape(), f.pivots.ndim() - 1);
  const Array exchanged = sum(astype(f.pivots != places, int32), {.axis = -1});
  return astype(1 - 2 * (exchanged % 2), dtype);
}

struct Cofactors {
  Array det, solved;
};

// Returns det(a) and det(a) a^-1 b, from p a = l u, also for a singular a, as jax.numpy.linalg's
// _cofactor_solve does. det(a) / u[n, n], which is finite, replaces 1 / u[n, n], and the other rows
// of the solution are multiplied by det(a). The product is 0 if the rank is less than n - 1.
Cofactors cofactor_solve(const Array& a, const Array& b) {
  const int64_t n = a.shape(-1), rank = a.ndim();
  if (n == 1) return {element(a, 0, 0), b};
  const lax::linalg::Lu f = lax::linalg::lu(a);
  const Array sign = lax::expand_dims(parity_of(f, a.dtype()), {rank - 2});
  const Array partial = cumprod(factor::diagonal_of(f.lu), {.axis = -1}) * sign;
  const Array det = one_at_end(partial, n - 1);
  const Array row = lax::iota(int32, b.shape(), rank - 2),
              column = lax::iota(int32, b.shape(), rank - 1), is_last = row == n - 1;
  const Array inverse = lax::expand_dims(1 / one_at_end(partial, n - 2), {rank - 1});
  const Array lu = where(logical_and(is_last, column == n - 1), inverse, f.lu);
  const Array ones_solved = lax::linalg::triangular_solve(
      lu, lax::full(partial.shape(), 1, a.dtype()), {.left_side = true});
  const Array fails = any(logical_not(isfinite(ones_solved)), {.axis = -1, .keepdims = true});
  const Array failed = lax::expand_dims(fails, {rank - 1});
  Array x = where(failed, 0, b);
  x = lax::take_along(x, factor::as_columns(f.permutation, x.shape()), rank - 2);
  x = lax::linalg::triangular_solve(lu, x,
                                    {.left_side = true, .lower = true, .unit_diagonal = true});
  x = where(is_last, x, x * lax::expand_dims(det, {rank - 1}));
  x = lax::linalg::triangular_solve(lu, x, {.left_side = true});
  return {lax::squeeze(det, {rank - 2}), where(failed, 0, x)};
}

Array det_by_lu(const Array& m) {
  const lax::linalg::Lu f = lax::linalg::lu(m);
  return prod(factor::diagonal_of(f.lu), {.axis = -1}) * parity_of(f, m.dtype());
}

Array differentiable_det(const Array& m) {
  if (m.size() == 0) return det_by_lu(m);
  const auto rule = [](const std::tuple<Array>& x, const std::tuple<Array>& t) {
    const Cofactors c = cofactor_solve(std::get<0>(x), std::get<0>(t));
    return std::pair(c.det, sum(factor::diagonal_of(c.solved), {.axis = -1}));
  };
  return custom_jvp(det_by_lu, rule)(m);
}

}  // namespace

Array det(const Array& a) {
  expect_square("det", a);
  return composite("linalg.det", {}, {a}, [](const NoParams&, Args x) -> Array {
    const Array m = promote(x[0], Promotion::kInexact);
    auto e = [&](int64_t i, int64_t j) { return element(m, i, j); };
    switch (m.shape(-1)) {
      case 2:
        return e(0, 0) * e(1, 1) - e(0, 1) * e(1, 0);
      case 3:
        return e(0, 0) * e(1, 1) * e(2, 2) + e(0, 1) * e(1, 2) * e(2, 0) +
               e(0, 2) * e(1, 0) * e(2, 1) - e(0, 2) * e(1, 1) * e(2, 0) -
               e(0, 0) * e(1, 2) * e(2, 1) - e(0, 1) * e(1, 0) * e(2, 2);
      default:
        return differentiable_det(m);
    }
  });
}

Slogdet slogdet(const Array& a) {
  expect_square("slogdet", a);
  const std::vector<Array> out =
      composite("linalg.slogdet", {}, {a}, [](const NoParams&, Args x) -> std::vector<Array> {
        const Array m = promote(x[0], Promotion::kInexact);
        const lax::linalg::Lu f = lax::linalg::lu(m);
        const Array d = factor::diagonal_of(f.lu), magnitude = abs(d);
        const Array singular = any(d == 0, {.axis = -1});
        const Array safe = where(magnitude == 0, 1, magnitude);
        const Array signs = is_complex(m.dtype()) ? d / factor::in_dtype_of(safe, d) : sign(d);
        const Array sign = prod(signs, {.axis = -1}) * parity_of(f, m.dtype());
        return {where(singular, astype(Array(0), m.dtype()), sign),
                where(singular, -INFINITY, sum(log(safe), {.axis = -1}))};
      });
  return {out[0], out[1]};
}

}  // namespace tessera::linalg
