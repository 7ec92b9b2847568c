// perturbed_solve: solves a tridiagonal system that may be singular.
//
// This is Gaussian elimination with the row exchanges of LAPACK's xLAGTF; a pivot for which a
// quotient would overflow is moved away from 0 by the smallest amount that helps, as xLAGTS does
// for one right-hand side.
#pragma once

#include <cstdint>

namespace tessera::ops::factor {

// Writes the solution to x. The lower, main and upper diagonals dl, d and du have m elements, of
// which dl[0] and du[m - 1] are not read; b and x are m by n, row-major.
template <class T>
void perturbed_solve(int64_t m, int64_t n, const T* dl, const T* d, const T* du, const T* b, T* x);

}  // namespace tessera::ops::factor
