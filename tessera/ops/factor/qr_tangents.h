// Derivatives of thin QR, for qr and for the reflectors from which it is computed.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::factor {

struct QrTangents {
  Array q, r;
};
// Returns the tangents of q [..., m, k] and r [..., k, n], where x = q r and k = min(m, n), for the
// tangent dx of x.
QrTangents qr_tangents(const Array& q, const Array& r, const Array& x, const Array& dx);

}  // namespace tessera::ops::factor
