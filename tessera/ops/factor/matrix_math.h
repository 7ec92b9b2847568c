// Functions of matrices that are made of other ops, for the derivatives of ops in this folder and
// for functions that are made of these: x has the shape [..., m, n].
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::factor {

Array matmul(const Array& a, const Array& b);
// Return x with rows and columns exchanged; for complex matrices adjoint() also conjugates.
Array transposed(const Array& x);
Array adjoint(const Array& x);
// Returns the conjugate; a real array itself.
Array conjugate(const Array& x);
// Return x with zeros above diagonal `k`, or below it.
Array lower_triangle(const Array& x, int64_t k = 0);
Array upper_triangle(const Array& x, int64_t k = 0);
// Returns the identity of n rows in every member of x's batch, of x's dtype.
Array identity_like(const Array& x, int64_t n);
// Return x[..., i, i]; and the matrix that has x's elements there, zeros elsewhere.
Array diagonal_of(const Array& x);
Array diagonal_matrix(const Array& x);
// Return x of [..., n] as [..., n, 1] or [..., 1, n], repeated to the [..., m, n] of `shape`.
Array as_columns(const Array& x, const Shape& shape);  // x[..., i] at every [..., i, j]
Array as_rows(const Array& x, const Shape& shape);     // x[..., j] at every [..., i, j]
// Returns the Hermitian matrix one of whose triangles is x's.
Array hermitian_of(const Array& x, bool lower);
// Returns x[..., i0:i1, j0:j1].
Array block_of(const Array& x, int64_t i0, int64_t i1, int64_t j0, int64_t j1);
// Return the real part (a real array itself); and a real array in the dtype of `like`.
Array real_part(const Array& x);
Array in_dtype_of(const Array& x, const Array& like);
// Returns x of [batch..., ...] where LAPACK's info of [batch...] is 0, and NaN elsewhere.
Array nan_where_failed(const Array& x, const Array& info);

}  // namespace tessera::ops::factor
