// Householder reflectors h = I - tau v v^H and their products, as LAPACK keeps them: geqrf, geqp3,
// householder_product and ormqr. Programs that JAX exported contain these ops. All except ormqr
// have derivatives. The op of qr.h calls the same routines.
//
// The vectors v are below the diagonal of [..., m, n] matrices; their ones are not stored.
#pragma once

#include <utility>

#include "tessera/ir/array.h"

namespace tessera::ops {

// (a) -> (reflectors below r, taus of [..., min(m, n)])
extern const OpDef& geqrf_op;
// geqrf with pivoted columns: (a, pivots) -> (a, pivots, taus). Pivots, [..., n] int32, count from
// 1; on entry, columns whose pivot is not 0 come first.
extern const OpDef& geqp3_op;
// (a, taus) -> the first n columns of the product of the reflectors; m >= n >= the number of taus.
extern const OpDef& householder_product_op;
// (a, taus, c) -> c multiplied by that product from the left, or right; by its adjoint if
// `transpose`.
struct OrmqrParams {
  bool left = true;
  bool transpose = false;
};
extern const OpDef& ormqr_op;

}  // namespace tessera::ops

namespace tessera::lax::linalg {

std::pair<Array, Array> geqrf(const Array& a);
Array householder_product(const Array& a, const Array& taus);
Array ormqr(const Array& a, const Array& taus, const Array& c, bool left = true,
            bool transpose = false);

}  // namespace tessera::lax::linalg
