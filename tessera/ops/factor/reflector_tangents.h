// Derivatives of Householder reflectors as LAPACK keeps them (reflectors.h), so that programs which
// are made of geqrf and householder_product have those of QR.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::factor {

struct ReflectorTangents {
  Array packed, taus;
};
// Returns the tangents of the reflectors of x, `packed` below r with their taus, in the direction
// dx.
ReflectorTangents reflector_tangents(const Array& packed, const Array& taus, const Array& x,
                                     const Array& dx);

// Returns the tangent of householder_product(packed, taus).
Array product_tangent(const Array& packed, const Array& taus, const Array& dpacked,
                      const Array& dtaus);

}  // namespace tessera::ops::factor
