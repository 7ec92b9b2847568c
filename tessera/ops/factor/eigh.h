// eigh: eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read.
//
// The results are the eigenvectors as columns, [..., n, n]; the eigenvalues, real and ascending,
// [..., n]; and LAPACK's info for each matrix, int32: 0 unless the iteration did not converge.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct EighParams {
  bool lower = true;
};
extern const OpDef& eigh_op;
// The eigenvalues and the info alone. Only the compiler makes this op, if nothing reads the
// eigenvectors (fusion/rewrites/simplify_eigenvalues.h).
extern const OpDef& eigh_values_op;

}  // namespace tessera::ops

namespace tessera::lax::linalg {

struct Eigh {
  Array v, w;  // eigenvectors, eigenvalues
};
// Returns the eigenvectors and eigenvalues of (x + x^H) / 2, or of one triangle of x if
// `symmetrize_input` is false. They are NaN for matrices for which the iteration did not converge.
Eigh eigh(const Array& x, bool lower = true, bool symmetrize_input = true);

}  // namespace tessera::lax::linalg
