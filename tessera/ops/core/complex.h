// Complex numbers from their parts, and the parts of complex numbers.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

extern const OpDef& complex_op;
extern const OpDef& real_op;
extern const OpDef& imag_op;
extern const OpDef& conj_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Returns complex64 from two float32 arrays of one shape, complex128 from float64.
Array complex(const Array& re, const Array& im);
Array real(const Array& z);  // of complex arrays only
Array imag(const Array& z);
// Returns the conjugate; a real array becomes complex, as in JAX.
Array conj(const Array& z);

}  // namespace tessera::lax
