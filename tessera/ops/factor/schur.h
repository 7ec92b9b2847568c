// schur: a = q t q^H with unitary q and t upper triangular (of real matrices with blocks of two
// where eigenvalues are complex); hessenberg: a = q h q^H with h zero below its first subdiagonal.
//
// schur returns t, with `vectors` q, then the complex eigenvalues, [..., n], and LAPACK's info.
// hessenberg returns h with reflectors below it, their n - 1 taus (reflectors.h) and info.
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
// Results are NaN where it does not converge.
Schur schur(const Array& x, bool vectors = true);

struct Hessenberg {
  Array h, taus;
};
Hessenberg hessenberg(const Array& x);

}  // namespace tessera::lax::linalg
