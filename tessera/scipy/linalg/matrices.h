// Helpers that the sources of scipy/linalg share.
#pragma once

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/mapped_functions.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/pad.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/scipy/linalg.h"

namespace tessera::scipy::linalg::internal {

using Arrays = std::vector<Array>;
using Args = std::span<const Array>;

inline int64_t rows_of(const Array& a) { return a.shape()[a.ndim() - 2]; }
inline int64_t columns_of(const Array& a) { return a.shape()[a.ndim() - 1]; }
inline Array adjoint(const Array& a) { return conj(matrix_transpose(a)); }

inline void expect_matrix(const char* name, const Array& a) {
  if (a.ndim() < 2)
    shape_error(name, "expected matrices [..., m, n], got {}; reshape it", describe(a.type()));
}
inline void expect_square(const char* name, const Array& a) {
  if (a.ndim() < 2 || rows_of(a) != columns_of(a))
    shape_error(name, "expected square matrices [..., n, n], got {}", describe(a.type()));
}

// Returns a in an inexact dtype, not weakly typed.
inline Array in_floats(const Array& a) {
  const Array p = promote(a, Promotion::kInexact);
  return as_dtype(p, p.dtype());
}
inline DType complex_kin(DType dtype) {
  if (is_complex(dtype)) return dtype;
  return to_inexact(dtype) == float64 ? complex128 : complex64;
}

// Returns the matrices with their batch dimensions broadcast to a common shape.
inline Arrays with_one_batch(const char* name, const Arrays& matrices) {
  std::vector<Shape> batches;
  for (const Array& m : matrices) batches.emplace_back(m.shape().begin(), m.shape().end() - 2);
  const Shape batch = broadcast_shapes(name, batches);
  Arrays out;
  for (const Array& m : matrices) {
    Shape shape = batch;
    shape.insert(shape.end(), m.shape().end() - 2, m.shape().end());
    out.push_back(broadcast_array(name, m, shape));
  }
  return out;
}

// Returns f(b). A vector b is passed as a column.
template <class F>
Array with_columns(const Array& b, const F& f) {
  return b.ndim() == 1 ? squeeze(f(expand_dims(b, 1)), -1) : f(b);
}
// Throws UserError unless b is a vector or a matrix with as many rows as a.
inline void expect_right_side(const char* name, const Array& a, const Array& b) {
  if (b.ndim() == 0 || b.shape()[b.ndim() == 1 ? 0 : b.ndim() - 2] != rows_of(a))
    shape_error(name, "expected b of shape (m,) or (..., m, k) for a of {}, got {}; reshape it",
                describe(a.type()), describe(b.type()));
}

// Applies f to each pair of matrices of two batches, or to each matrix of one batch.
template <class F>
auto of_each_matrix(const F& f, const Array& a, const Array& b) {
  return vectorize(f, "(i,j),(k,l)->(m,n)")(a, b);
}
template <class F>
auto of_each_matrix(const F& f, const Array& a) {
  return vectorize(f, "(i,j)->(m,n)")(a);
}

}  // namespace tessera::scipy::linalg::internal
