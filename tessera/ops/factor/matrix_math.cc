#include "tessera/ops/factor/matrix_math.h"

#include <algorithm>
#include <cmath>

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops::factor {

using namespace array_math;

namespace {

// Returns a mask of `shape` [..., m, n] that is true where j - i >= k.
Array on_or_above(const Shape& shape, int64_t k) {
  const int64_t rank = shape.rank();
  const Shape matrix{shape[rank - 2], shape[rank - 1]};
  const Array i = lax::iota(int32, matrix, 0), j = lax::iota(int32, matrix, 1);
  return lax::broadcast_in_dim(j >= i + k, shape, {rank - 2, rank - 1});
}

// Returns the dimensions of x without its last one, followed by `last`.
Dims dims_but_last(int64_t rank, int64_t last) {
  Dims out;
  for (int64_t d = 0; d + 1 < rank; ++d) out.push_back(d);
  out.push_back(last);
  return out;
}

}  // namespace

Array matmul(const Array& a, const Array& b) { return lax::batch_matmul(a, b); }

Array transposed(const Array& x) { return lax::move_dim(x, x.ndim() - 1, x.ndim() - 2); }

Array conjugate(const Array& x) { return is_complex(x.dtype()) ? lax::conj(x) : x; }

Array adjoint(const Array& x) { return conjugate(transposed(x)); }

Array lower_triangle(const Array& x, int64_t k) {
  return lax::select(on_or_above(x.shape(), k + 1), lax::zeros_like(x.type()), x);
}

Array upper_triangle(const Array& x, int64_t k) {
  return lax::select(on_or_above(x.shape(), k), x, lax::zeros_like(x.type()));
}

Array identity_like(const Array& x, int64_t n) {
  Shape shape = x.shape();
  shape[shape.rank() - 2] = shape[shape.rank() - 1] = n;
  const Array i = lax::iota(int32, {n, n}, 0), j = lax::iota(int32, {n, n}, 1);
  return lax::broadcast_in_dim(lax::convert_element_type(i == j, x.dtype()), shape,
                               {shape.rank() - 2, shape.rank() - 1});
}

Array diagonal_of(const Array& x) {
  const int64_t n = std::min(x.shape()[x.ndim() - 2], x.shape()[x.ndim() - 1]);
  const Array square = block_of(x, 0, n, 0, n);
  const Array zero = lax::zeros_like(square.type());
  const Array i = lax::iota(int32, {n, n}, 0), j = lax::iota(int32, {n, n}, 1);
  const Array on =
      lax::broadcast_in_dim(i == j, square.shape(), {square.ndim() - 2, square.ndim() - 1});
  return lax::reduce_sum(lax::select(on, square, zero), {-1});
}

Array diagonal_matrix(const Array& x) {
  const int64_t n = x.shape()[x.ndim() - 1], rank = x.ndim() + 1;
  Shape shape = x.shape();
  shape.push_back(n);
  const Array i = lax::iota(int32, {n, n}, 0), j = lax::iota(int32, {n, n}, 1);
  const Array on = lax::broadcast_in_dim(i == j, shape, {rank - 2, rank - 1});
  const Array rows = as_columns(x, shape);
  return lax::select(on, rows, lax::zeros_like(rows.type()));
}

Array as_columns(const Array& x, const Shape& shape) {
  return lax::broadcast_in_dim(x, shape, dims_but_last(x.ndim(), x.ndim() - 1));
}

Array as_rows(const Array& x, const Shape& shape) {
  return lax::broadcast_in_dim(x, shape, dims_but_last(x.ndim(), x.ndim()));
}

Array hermitian_of(const Array& x, bool lower) {
  const Array half = lower ? lower_triangle(x, -1) : upper_triangle(x, 1);
  return half + adjoint(half) + diagonal_matrix(in_dtype_of(real_part(diagonal_of(x)), x));
}

Array block_of(const Array& x, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  Dims start(x.shape().size(), 0), limit = x.shape();
  const int64_t r = x.ndim() - 2;
  start[r] = i0;
  limit[r] = i1;
  start[r + 1] = j0;
  limit[r + 1] = j1;
  return lax::slice(x, start, limit);
}

Array real_part(const Array& x) { return is_complex(x.dtype()) ? lax::real(x) : x; }

Array in_dtype_of(const Array& x, const Array& like) {
  return lax::convert_element_type(x, like.dtype());
}

Array nan_where_failed(const Array& x, const Array& info) {
  Dims batch;
  for (int64_t d = 0; d < info.ndim(); ++d) batch.push_back(d);
  Array nan = lax::full(x.shape(), NAN, real_dtype(x.dtype()));
  if (is_complex(x.dtype())) nan = lax::complex(nan, nan);
  return lax::select(lax::broadcast_in_dim(info == 0, x.shape(), batch), x, nan);
}

}  // namespace tessera::ops::factor
