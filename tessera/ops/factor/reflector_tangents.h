// Derivatives of Householder reflectors as LAPACK keeps them (reflectors.h). With these, programs
// of geqrf and householder_product have the same derivatives as programs of qr.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::factor {

struct ReflectorTangents {
  Array packed, taus;
};
// Returns the tangents of geqrf(x) = (packed, taus) for the tangent dx of x.
ReflectorTangents reflector_tangents(const Array& packed, const Array& taus, const Array& x,
                                     const Array& dx);

// Returns the tangent of householder_product(packed, taus).
Array product_tangent(const Array& packed, const Array& taus, const Array& dpacked,
                      const Array& dtaus);

}  // namespace tessera::ops::factor
