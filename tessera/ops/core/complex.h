// The ops that make complex numbers from real and imaginary parts, and that return these parts.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

extern const OpDef& complex_op;
extern const OpDef& real_op;
extern const OpDef& imag_op;
extern const OpDef& conj_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Returns re + i im: complex64 from two float32 arrays of one shape, complex128 from float64.
Array complex(const Array& re, const Array& im);
// Return the real and the imaginary part of a complex array, with its shape. Throw UserError kType
// for other dtypes.
Array real(const Array& z);
Array imag(const Array& z);
// Returns the complex conjugate; a real array becomes complex, as in JAX.
Array conj(const Array& z);

}  // namespace tessera::lax
