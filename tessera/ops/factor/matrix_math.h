// Matrices in the array language, for the derivatives of ops in this folder and for functions that
// are made of these: x of shape [..., m, n].
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::factor {

Array matmul(const Array& a, const Array& b);
// With rows and columns exchanged; of complex matrices conjugated too.
Array transposed(const Array& x);
Array adjoint(const Array& x);
// The conjugate; a real array itself.
Array conjugate(const Array& x);
// Zeros above diagonal `k`, or below it.
Array lower_triangle(const Array& x, int64_t k = 0);
Array upper_triangle(const Array& x, int64_t k = 0);
// The identity of n rows in every member of x's batch, of x's dtype.
Array identity_like(const Array& x, int64_t n);
// x[..., i, i]; and the matrix that has x's elements there, zeros elsewhere.
Array diagonal_of(const Array& x);
Array diagonal_matrix(const Array& x);
// x of [..., n] as [..., n, 1] or [..., 1, n], repeated to [..., m, n] as `shape` says.
Array as_columns(const Array& x, const Shape& shape);  // x[..., i] at every [..., i, j]
Array as_rows(const Array& x, const Shape& shape);     // x[..., j] at every [..., i, j]
// The Hermitian matrix of which one triangle is x's.
Array hermitian_of(const Array& x, bool lower);
// x[..., i0:i1, j0:j1]
Array block_of(const Array& x, int64_t i0, int64_t i1, int64_t j0, int64_t j1);
// The real part, as it is of reals; and a real array in the dtype of `like`.
Array real_part(const Array& x);
Array in_dtype_of(const Array& x, const Array& like);
// x of [batch..., ...] where LAPACK's info of [batch...] is 0, NaN elsewhere.
Array nan_where_failed(const Array& x, const Array& info);

}  // namespace tessera::ops::factor
