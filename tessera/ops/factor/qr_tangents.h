// Derivatives of thin QR, for qr itself and for the reflectors that it is made of.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::factor {

struct QrTangents {
  Array q, r;
};
// Of x = q r in the direction dx: q of [..., m, k], r of [..., k, n], k = min(m, n).
QrTangents qr_tangents(const Array& q, const Array& r, const Array& x, const Array& dx);

}  // namespace tessera::ops::factor
