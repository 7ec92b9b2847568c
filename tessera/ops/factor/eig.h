// eig: eigenvalues and eigenvectors of square matrices.
//
// Results, complex: the eigenvalues, [..., n]; with `left` and `right` the left and right
// eigenvectors as columns, [..., n, n], of norm 1 with a real largest component; then LAPACK's info
// for each matrix, int32: 0 unless it did not converge or has elements that are not finite.
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
// The results are NaN where it fails.
Eig eig(const Array& x, bool left = true, bool right = true);

}  // namespace tessera::lax::linalg
