// Derivatives of thin QR, for qr itself and for the reflectors of which it is made.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::factor {

struct QrTangents {
  Array q, r;
};
// Returns the tangents of x = q r in the direction dx: q is [..., m, k], r [..., k, n], k = min(m,
// n).
QrTangents qr_tangents(const Array& q, const Array& r, const Array& x, const Array& dx);

}  // namespace tessera::ops::factor
