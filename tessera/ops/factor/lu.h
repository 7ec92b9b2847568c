// lu: the factorisation p a = l u of m by n matrices, with rows exchanged.
//
// Results: one matrix with l below the diagonal (l has ones on it) and u on and above it; the
// pivots, min(m, n) int32: row i was exchanged with row pivots[i]; the permutation, m int32: row i
// of p a is row permutation[i] of a; and LAPACK's info for each matrix, int32: i + 1 if u[i, i] is
// the first zero on the diagonal, otherwise 0.
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
// Returns the solution of a x = b, a^T x = b (`trans` 1) or a^H x = b (2), for b [..., m, k]. `lu`
// and `permutation` are those of a, with b's batch dimensions.
Array lu_solve(const Array& lu, const Array& permutation, const Array& b, int trans = 0);
// Returns the solution x of a x = b.
Array solve(const Array& a, const Array& b);

}  // namespace tessera::lax::linalg
