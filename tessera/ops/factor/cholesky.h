// cholesky: StableHLO's op for the triangular factor of Hermitian positive definite matrices.
//
// One triangle of the operand is read, the lower one if `lower`. The result has its numbers in that
// triangle and zeros in the other: a = l l^H or a = u^H u. If a matrix is not positive definite,
// that triangle is NaN.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct CholeskyParams {
  bool lower = false;
};
extern const OpDef& cholesky_op;

}  // namespace tessera::ops

namespace tessera::lax::linalg {

// Returns the lower Cholesky factors of x [..., n, n]: of (x + x^H) / 2, or of the lower triangle
// of x if `symmetrize_input` is false. They are NaN for matrices that are not positive definite.
Array cholesky(const Array& x, bool symmetrize_input = true);

}  // namespace tessera::lax::linalg
