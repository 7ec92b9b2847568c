// tridiagonal: a Hermitian matrix, of which one triangle is read, as q t q^H with real tridiagonal
// t; tridiagonal_solve: equations with a tridiagonal matrix.
//
// tridiagonal returns the matrix with t's diagonals and reflectors beyond them, t's diagonal [...,
// n] and its neighbour [..., n - 1], the reflectors' taus [..., n - 1] (reflectors.h) and LAPACK's
// info. tridiagonal_solve takes the lower, main and upper diagonals, each of [..., m] (the first
// lower and the last upper element are not read), and right-hand sides [..., m, n]; it returns the
// solution and LAPACK's info, which is not 0 where the matrix is singular. With `perturb_singular`
// a pivot too small to divide by is moved away from 0, as an inverse iteration needs it.
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
// Results are NaN where the matrix is singular.
Array tridiagonal_solve(const Array& dl, const Array& d, const Array& du, const Array& b,
                        bool perturb_singular = false);

}  // namespace tessera::lax::linalg
