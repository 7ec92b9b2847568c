// qr: a = q r with orthonormal columns q and upper triangular r, of m by n matrices.
//
// q is [..., m, k] and r [..., k, n] with k = min(m, n), or m with `full_matrices`. With `pivoting`
// the columns of a are taken in the order of a third result, n int32: a[:, p] = q r.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct QrParams {
  bool full_matrices = true;
  bool pivoting = false;
};
extern const OpDef& qr_op;

}  // namespace tessera::ops

namespace tessera::lax::linalg {

struct Qr {
  Array q, r;
  Array p = {};  // defined with pivoting
};
Qr qr(const Array& a, bool full_matrices = true, bool pivoting = false);

}  // namespace tessera::lax::linalg
