// Complex numbers from and to their parts.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

extern const OpDef& complex_op;
extern const OpDef& real_op;
extern const OpDef& imag_op;
extern const OpDef& conj_op;

}  // namespace tessera::ops

namespace tessera::lax {

// complex64 from two float32 arrays of one shape, complex128 from float64.
Array complex(const Array& re, const Array& im);
Array real(const Array& z);  // of complex arrays only
Array imag(const Array& z);
// The conjugate; a real array becomes complex, as in JAX.
Array conj(const Array& z);

}  // namespace tessera::lax
