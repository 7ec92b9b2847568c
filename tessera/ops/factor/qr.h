// qr: the factorisation a = q r of m by n matrices, where q has orthonormal columns and r is upper
// triangular.
//
// q is [..., m, k] and r [..., k, n] with k = min(m, n), or m with `full_matrices`. With `pivoting`
// there is a third result p, n int32, the order in which the columns of a are taken: a[:, p] = q r.
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
