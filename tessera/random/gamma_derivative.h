// The derivative of a gamma sample by its parameter at a fixed key: implicit reparametrisation.
// Only source files of random/ include this header.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::random::internal {

// Returns d sample / d alpha where sample ~ Gamma(alpha): -(dP/dalpha) / (dP/dx) of the regularised
// incomplete gamma function P(alpha, x), element by element; NaN for alpha <= 0, 0 at sample 0.
// Both have one shape and floating-point dtype. It has no reverse derivative of its own.
Array gamma_sample_derivative(const Array& alpha, const Array& sample);

}  // namespace tessera::random::internal
