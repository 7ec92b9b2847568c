// Products of Householder reflectors h = I - tau v v^H, as LAPACK keeps them: geqrf, geqp3,
// householder_product and ormqr. Programs that JAX exported are made of these; all but ormqr have
// derivatives. qr.h computes the same routines in one op.
//
// The vectors v are below the diagonal of [..., m, n] matrices; their ones are not stored.
#pragma once

#include <utility>

#include "tessera/ir/array.h"

namespace tessera::ops {

// (a) -> (reflectors below r, taus of [..., min(m, n)])
extern const OpDef& geqrf_op;
// The same with pivoted columns: (a, pivots) -> (a, pivots, taus). Pivots, [..., n] int32, count
// from 1; on entry, columns whose pivot is not 0 come first.
extern const OpDef& geqp3_op;
// (a, taus) -> the first n columns of the product of the reflectors; m >= n >= the number of taus.
extern const OpDef& householder_product_op;
// (a, taus, c) -> c multiplied by that product from the left, or right; by its adjoint with
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
