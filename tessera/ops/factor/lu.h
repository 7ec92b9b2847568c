// lu: p a = l u with rows exchanged, of m by n matrices.
//
// Results: l below the diagonal (its own is of ones) and u on and above it, in one matrix; the
// pivots, min(m, n) int32: row i was exchanged with row pivots[i]; the permutation, m int32: row i
// of p a is row permutation[i] of a; and LAPACK's info for each matrix, int32: i + 1 for the first
// zero u[i, i].
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

extern const OpDef& lu_op;

}  // namespace tessera::ops

namespace tessera::lax::linalg {

struct Lu {
  Array lu, pivots, permutation;
};
Lu lu(const Array& x);
// Returns the solution of a x = b, a^T x = b (`trans` 1) or a^H x = b (2), from a's lu and
// permutation, for b of [..., m, k] with the same batch dimensions.
Array lu_solve(const Array& lu, const Array& permutation, const Array& b, int trans = 0);
// Returns the solution of a x = b.
Array solve(const Array& a, const Array& b);

}  // namespace tessera::lax::linalg
