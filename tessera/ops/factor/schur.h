// schur: a = q t q^H with unitary q and t upper triangular (for real matrices, with 2 by 2 blocks
// on its diagonal for pairs of complex eigenvalues); hessenberg: a = q h q^H with h zero below its
// first subdiagonal.
//
// The results of schur are t, q if `vectors`, the complex eigenvalues [..., n] and LAPACK's info.
// Those of hessenberg are one matrix with h and the reflectors below it, their n - 1 taus
// (reflectors.h) and info.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct SchurParams {
  bool vectors = true;
};
extern const OpDef& schur_op;
extern const OpDef& hessenberg_op;

}  // namespace tessera::ops

namespace tessera::lax::linalg {

struct Schur {
  Array t;
  Array q = {};  // defined with vectors
};
// Returns the Schur factors of x [..., n, n]. They are NaN for matrices for which the iteration
// does not converge.
Schur schur(const Array& x, bool vectors = true);

struct Hessenberg {
  Array h, taus;
};
Hessenberg hessenberg(const Array& x);

}  // namespace tessera::lax::linalg
