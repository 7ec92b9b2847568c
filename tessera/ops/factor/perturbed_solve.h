// perturbed_solve: solves a tridiagonal system that may be singular.
//
// This is Gaussian elimination with the row exchanges of LAPACK's xLAGTF; pivots of the triangular
// matrix that would overflow a quotient are moved away from 0 by the smallest amount that helps, as
// xLAGTS does for one right-hand side.
#pragma once

#include <cstdint>

namespace tessera::ops::factor {

// dl, d and du have m elements, where dl[0] and du[m - 1] are not read; b and x are m by n,
// row-major.
template <class T>
void perturbed_solve(int64_t m, int64_t n, const T* dl, const T* d, const T* du, const T* b, T* x);

}  // namespace tessera::ops::factor
