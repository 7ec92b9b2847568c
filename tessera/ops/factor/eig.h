// eig: eigenvalues and eigenvectors of square matrices.
//
// The results are the eigenvalues, [..., n]; with `left` and `right` the left and right
// eigenvectors as columns, [..., n, n], of norm 1 and with a real largest component; and LAPACK's
// info for each matrix, int32. Eigenvalues and eigenvectors are complex. info is 0 unless the
// iteration did not converge or the matrix has elements that are not finite.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct EigParams {
  bool left = false;
  bool right = true;
};
extern const OpDef& eig_op;

}  // namespace tessera::ops

namespace tessera::lax::linalg {

struct Eig {
  Array w;
  Array vl = {}, vr = {};  // defined if they were requested
};
// Returns the eigenvalues and eigenvectors of x [..., n, n]. They are NaN for a matrix whose info
// is not 0.
Eig eig(const Array& x, bool left = true, bool right = true);

}  // namespace tessera::lax::linalg
