// Products of Householder reflectors h = I - tau v v^H, as LAPACK keeps them: geqrf, geqp3,
// householder_product and ormqr. What programs that JAX exported are made of, with derivatives but of
// ormqr; qr.h is made of the same routines in one op.
//
// The vectors v stand below the diagonal of [..., m, n] matrices, their ones are not stored.
#pragma once

#include <utility>

#include "tessera/ir/array.h"

namespace tessera::ops {

// (a) -> (reflectors below r, taus of [..., min(m, n)])
extern const OpDef& geqrf_op;
// The same with pivoted columns: (a, pivots) -> (a, pivots, taus). Pivots of [..., n] int32 count
// from 1; columns whose entry is not 0 are taken first.
extern const OpDef& geqp3_op;
// (a, taus) -> the first n columns of the product of the reflectors; m >= n >= the number of taus.
extern const OpDef& householder_product_op;
// (a, taus, c) -> c times that product from the left, or right; of its adjoint with `transpose`.
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
