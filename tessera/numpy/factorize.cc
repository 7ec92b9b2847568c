#include "tessera/numpy/factorize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/compile/control_flow.h"
#include "tessera/compile/custom_derivatives.h"
#include "tessera/compile/vmap.h"
#include "tessera/ir/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/linear.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::internal {

using namespace ir;

namespace {

using namespace ops::array_math;

// Columns in a panel. They are reflected one by one, the columns right of the panel by matrix
// products.
constexpr int64_t kPanel = 32;

void check_matrix(std::string_view op, const Array& a) {
  if (a.ndim() < 2)
    shape_error(op, "expected a matrix, or a batch of them, got {}", describe(a.type()));
  if (a.dtype() != float32 && a.dtype() != float64)
    type_error(op, "expected a float32 or float64 matrix, got {}; convert it with astype",
               describe(a.type()));
}

// Applies f, a function of one matrix, to each matrix of a batch.
template <class F>
auto of_batch(const F& f, const Array& a) -> decltype(f(a)) {
  if (a.ndim() == 2) return f(a);
  return vmap([&](const Array& x) { return of_batch(f, x); })(a);
}

// Products of matrices and vectors.
Array times(const Array& a, const Array& b) { return lax::dot(a, b); }
Array transposed_times(const Array& a, const Array& b) {
  return lax::dot_general(a, b, {.lhs_contract = {0}, .rhs_contract = {0}});
}
Array outer_product(const Array& column, const Array& row) {
  const Shape shape{column.size(), row.size()};
  return lax::broadcast_in_dim(column, shape, {0}) * lax::broadcast_in_dim(row, shape, {1});
}

Array column_at(const Array& a, const Array& j) {
  return lax::reshape(lax::dynamic_slice_in_dim(a, j, 1, 1), {a.shape()[0]});
}
Array with_column(const Array& a, const Array& j, const Array& column) {
  return lax::dynamic_update_slice_in_dim(a, lax::reshape(column, {column.size(), 1}), j, 1);
}
Array sum_of(const Array& x) { return lax::reduce_sum(x, iota_dims(x.ndim())); }
Array spread(const Array& scalar, const Shape& shape) {
  return lax::broadcast_in_dim(scalar, shape, {});
}
Array zeros_of(const Shape& shape, DType dtype) { return lax::full(shape, 0, dtype); }

// The result of reducing a panel [n, b] to upper triangular form. The diagonal begins in row
// `offset`. upper = H_b ... H_1 panel, where H_1 ... H_b = 1 - v t v^T.
struct Panel {
  Array upper, v, t;  // [n, b], [n, b], [b, b]
};
Panel factor_panel(const Array& panel, const Array& offset) {
  const int64_t n = panel.shape()[0], b = panel.shape()[1];
  const DType dtype = panel.dtype();
  const Array rows = lax::iota(int32, {n}), columns = lax::iota(int32, {b});
  const auto step = [&](const Array& i, const Panel& p) {
    const Array j = lax::convert_element_type(i, int32);
    const Array row = spread(offset + j, {n});
    const Array on = rows == row, below = rows > row, none = zeros_of({n}, dtype);
    const Array x = column_at(p.upper, j);
    const Array head = sum_of(lax::select(on, x, none)),
                tail = sum_of(lax::select(below, x * x, none));
    // The reflection maps x to diagonal * e. The diagonal has the sign that the head does not have,
    // so that nothing cancels. A column that is zero below the diagonal stays as it is.
    const Array one = lax::full_like(head, 1), zero = lax::full_like(head, 0);
    const Array reflects = tail > 0;
    const Array norm = lax::sqrt(lax::select(reflects, head * head + tail, one));
    const Array diagonal = lax::select(reflects, lax::select(head < 0, norm, -norm), head);
    const Array difference = lax::select(reflects, head - diagonal, one);
    const Array factor =
        lax::select(reflects, -difference / lax::select(reflects, diagonal, one), zero);
    const Array v = lax::select(on, lax::full_like(none, 1),
                                lax::select(below, x / spread(difference, {n}), none));
    const Array moved =
        p.upper - outer_product(v * spread(factor, {n}), transposed_times(p.upper, v));
    const Array exact = lax::select(on, spread(diagonal, {n}), lax::select(below, none, x));
    // The product of reflections is extended by one: t gets the column -factor t v^T v_j with
    // factor below it.
    const Array earlier = times(p.t, transposed_times(p.v, v));
    const Array here = columns == spread(j, {b});
    const Array grown =
        spread(factor, {b}) * lax::select(here, lax::full_like(earlier, 1), -earlier);
    return Panel{with_column(moved, j, exact), with_column(p.v, j, v), with_column(p.t, j, grown)};
  };
  return fori_loop(0, b, step, Panel{panel, zeros_of({n, b}, dtype), zeros_of({b, b}, dtype)});
}

QrFactors qr_of_matrix(const Array& a) {
  const int64_t n = a.shape()[0], m = a.shape()[1], k = std::min(n, m);
  const DType dtype = a.dtype();
  // Scaled so that squares stay in the dtype's range.
  const Array largest = lax::reduce_max(lax::abs(a), {0, 1});
  const Array scale = lax::select(largest > 0, largest, lax::full_like(largest, 1));
  const int64_t width = std::min(k, kPanel), panels = (k + width - 1) / width;
  const int64_t columns = std::max(m, panels * width);
  const Array padded = lax::pad(a / spread(scale, a.shape()), lax::full({}, 0, dtype), {0, 0},
                                {0, columns - m}, {0, 0});
  const Array offsets = lax::iota(int32, {panels}) * width;
  const auto reflect = [&](const Array& whole, const Array& offset) {
    const Panel p = factor_panel(lax::dynamic_slice_in_dim(whole, offset, width, 1), offset);
    const Array rest = whole - times(p.v, transposed_times(p.t, transposed_times(p.v, whole)));
    return std::pair(lax::dynamic_update_slice_in_dim(rest, p.upper, offset, 1),
                     std::pair(p.v, p.t));
  };
  const auto [upper, reflectors] = scan(reflect, padded, offsets);
  const auto apply = [&](const Array& q, const std::pair<Array, Array>& p) {
    return std::pair(q - times(p.first, times(p.second, transposed_times(p.first, q))), None);
  };
  const Array q = scan(apply, eye(n, k, 0, dtype), reflectors, {.reverse = true}).first;
  const Array r = lax::slice(upper, {0, 0}, {k, m});
  return {q, r * spread(scale, r.shape())};
}

Array lower_triangle(const Array& a) {
  const Array row = lax::iota(int32, a.shape(), 0), column = lax::iota(int32, a.shape(), 1);
  return lax::select(lax::ge(row, column), a, lax::full_like(a, 0));
}

// Computes column by column: a's column minus what earlier columns contribute, divided by the
// square root of its diagonal element.
Array cholesky_of_matrix(const Array& a) {
  const int64_t n = a.shape()[0];
  const Array rows = lax::iota(int32, {n});
  const Array nan = lax::full({}, std::numeric_limits<double>::quiet_NaN(), a.dtype());
  const auto step = [&](const Array& i, const Array& l) {
    const Array j = lax::convert_element_type(i, int32);
    const Array row = lax::reshape(lax::dynamic_slice_in_dim(l, j, 1, 0), {n});
    const Array rest = column_at(a, j) - times(l, row);
    const Array on = rows == spread(j, {n}), zero = lax::full_like(rest, 0);
    const Array square = sum_of(lax::select(on, rest, zero));
    const Array root = lax::sqrt(lax::select(square > 0, square, nan));
    const Array column = lax::select(on, spread(root, {n}), rest / spread(root, {n}));
    return with_column(l, j, lax::select(lax::ge(rows, spread(j, {n})), column, zero));
  };
  const Array l = fori_loop(0, n, step, zeros_of({n, n}, a.dtype()));
  // NaN in one column spreads to all columns after it, and the last column is on the diagonal.
  const Array sum = sum_of(l);
  return lax::select(sum == sum, l, lower_triangle(spread(nan, {n, n})));
}

// Returns the inverse of a lower triangular matrix, computed row by row.
Array inverse_of_lower(const Array& l) {
  const int64_t n = l.shape()[0];
  const auto step = [&](const Array& trip, const Array& inverse) {
    const Array i = lax::convert_element_type(trip, int32);
    const Array row = lax::reshape(lax::dynamic_slice_in_dim(l, i, 1, 0), {n});
    const Array columns = lax::iota(int32, {n}), at = columns == spread(i, {n});
    const Array zero = zeros_of({n}, l.dtype());
    const Array pivot = sum_of(lax::select(at, row, zero));
    const Array unit = lax::select(at, lax::full_like(zero, 1), zero);
    const Array before = lax::select(at, zero, row);
    const Array solved = (unit - transposed_times(inverse, before)) / spread(pivot, {n});
    return lax::dynamic_update_slice_in_dim(inverse, lax::reshape(solved, {1, n}), i, 0);
  };
  return fori_loop(0, n, step, zeros_of({n, n}, l.dtype()));
}

// Returns the factor with its derivative in closed form, l phi(l^-1 da l^-T), where phi takes the
// lower triangle and halves its diagonal (Murray, "Differentiation of the Cholesky decomposition",
// 2016). So no residuals of the loop are kept.
Array differentiable_cholesky(const Array& a) {
  const auto rule = [](const std::tuple<Array>& x, const std::tuple<Array>& t) {
    const Array l = cholesky_of_matrix(std::get<0>(x)), inverse = inverse_of_lower(l);
    const Array inner = times(times(inverse, std::get<0>(t)), lax::transpose(inverse, {1, 0}));
    const Array row = lax::iota(int32, l.shape(), 0), column = lax::iota(int32, l.shape(), 1);
    const Array halved = lax::select(row == column, inner * 0.5, lower_triangle(inner));
    return std::pair(l, times(l, halved));
  };
  return custom_jvp(cholesky_of_matrix, rule)(a);
}

}  // namespace

QrFactors qr(std::string_view op, const Array& a) {
  check_matrix(op, a);
  if (a.size() == 0) {
    Shape q = a.shape(), r = a.shape();
    q.back() = r[a.ndim() - 2] = std::min(a.shape(-1), a.shape(-2));
    return {zeros_of(q, a.dtype()), zeros_of(r, a.dtype())};
  }
  return of_batch(qr_of_matrix, a);
}

Array cholesky(std::string_view op, const Array& a) {
  check_matrix(op, a);
  if (a.shape(-1) != a.shape(-2))
    shape_error(op, "expected square matrices, got {}", describe(a.type()));
  if (a.size() == 0) return a;
  return of_batch(differentiable_cholesky,
                  (a + lax::move_dim(a, a.ndim() - 1, a.ndim() - 2)) * 0.5);
}

}  // namespace tessera::internal
