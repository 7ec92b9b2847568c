// perturbed_solve: a tridiagonal system solved although it may be singular.
//
// Gaussian elimination with the row exchanges of LAPACK's xLAGTF; pivots of the triangular matrix
// that would overflow a quotient are moved away from 0 by the smallest amount that helps, as
// xLAGTS does it for one right-hand side.
#pragma once

#include <cstdint>

namespace tessera::ops::factor {

// dl, d, du: of m, dl[0] and du[m - 1] not read; b and x: m by n, row by row.
template <class T>
void perturbed_solve(int64_t m, int64_t n, const T* dl, const T* d, const T* du, const T* b, T* x);

}  // namespace tessera::ops::factor
