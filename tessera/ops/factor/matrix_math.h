// Functions of matrices x [..., m, n] that are composed of other ops. Derivatives of the ops in
// this folder use them, and so do functions composed of these ops.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::factor {

Array matmul(const Array& a, const Array& b);
// Return x with rows and columns exchanged; for complex matrices adjoint() also conjugates.
Array transposed(const Array& x);
Array adjoint(const Array& x);
// Returns the complex conjugate of x; x itself if it is real.
Array conjugate(const Array& x);
// Return x with zeros above diagonal `k`, or below it.
Array lower_triangle(const Array& x, int64_t k = 0);
Array upper_triangle(const Array& x, int64_t k = 0);
// Returns the identity of n rows for every matrix of x, in x's dtype.
Array identity_like(const Array& x, int64_t n);
// diagonal_of() returns x[..., i, i]. diagonal_matrix() returns the matrix with x on its diagonal,
// and zeros elsewhere.
Array diagonal_of(const Array& x);
Array diagonal_matrix(const Array& x);
// Return x [..., n], repeated to the shape [..., m, n] that `shape` is:
Array as_columns(const Array& x, const Shape& shape);  // x[..., i] at every [..., i, j]
Array as_rows(const Array& x, const Shape& shape);     // x[..., j] at every [..., i, j]
// Returns the Hermitian matrix of which x has one triangle, the lower one if `lower`.
Array hermitian_of(const Array& x, bool lower);
// Returns x[..., i0:i1, j0:j1].
Array block_of(const Array& x, int64_t i0, int64_t i1, int64_t j0, int64_t j1);
// real_part() returns the real part of x (x itself if it is real). in_dtype_of() returns a real
// array in the dtype of `like`.
Array real_part(const Array& x);
Array in_dtype_of(const Array& x, const Array& like);
// Returns x [batch..., ...] where LAPACK's `info` [batch...] is 0, and NaN elsewhere.
Array nan_where_failed(const Array& x, const Array& info);

}  // namespace tessera::ops::factor
