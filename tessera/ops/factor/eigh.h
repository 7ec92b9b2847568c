// eigh: eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read.
//
// Results: the eigenvectors as columns, [..., n, n]; the eigenvalues, real and ascending,
// [..., n]; LAPACK's info for each matrix, int32: 0 unless it did not converge.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct EighParams {
  bool lower = true;
};
extern const OpDef& eigh_op;

}  // namespace tessera::ops

namespace tessera::lax::linalg {

struct Eigh {
  Array v, w;  // eigenvectors, eigenvalues
};
// Returns those of (x + x^H) / 2, or of x if `symmetrize_input` is false. They are NaN where it
// does not converge.
Eigh eigh(const Array& x, bool lower = true, bool symmetrize_input = true);

}  // namespace tessera::lax::linalg
