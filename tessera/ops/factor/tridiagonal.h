// tridiagonal factors a Hermitian matrix, of which one triangle is read, as q t q^H with real
// tridiagonal t. tridiagonal_solve solves equations with a tridiagonal matrix.
//
// The results of tridiagonal are one matrix with t's diagonals and the reflectors beyond them, t's
// diagonal [..., n] and the one next to it [..., n - 1], the reflectors' taus [..., n - 1]
// (reflectors.h) and LAPACK's info. tridiagonal_solve takes the lower, main and upper diagonals,
// each of [..., m] (the first lower and the last upper element are not read), and right-hand sides
// [..., m, n]; it returns the solution and LAPACK's info, which is not 0 if the matrix is singular.
// With `perturb_singular` a pivot too small to divide by is moved away from 0, as inverse
// iterations need it.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct TridiagonalParams {
  bool lower = true;
};
extern const OpDef& tridiagonal_op;
struct TridiagonalSolveParams {
  bool perturb_singular = false;
};
extern const OpDef& tridiagonal_solve_op;

}  // namespace tessera::ops

namespace tessera::lax::linalg {

struct Tridiagonal {
  Array a, d, e, taus;
};
Tridiagonal tridiagonal(const Array& x, bool lower = true);
// Returns the solution of shape [..., m, n]. It is NaN for matrices that are singular.
Array tridiagonal_solve(const Array& dl, const Array& d, const Array& du, const Array& b,
                        bool perturb_singular = false);

}  // namespace tessera::lax::linalg
