// Computes maxima and minima of stored float16 and bfloat16 elements as those of 16-bit integers.
//
// In registers such floats are float32, half as many in a vector, and an extremum of floats takes
// several instructions, because it is NaN if an element is NaN and because -0 is less than +0. The
// bits of an element become a signed integer, its key, in the same order: the low 15 bits are
// inverted if the sign is set. NaN has the largest magnitudes, so positive NaN is above infinity
// and negative NaN below -infinity. Adding the number of NaNs of a sign, with the wrap of 16 bits,
// moves all of them below -infinity for a minimum; subtracting it moves them above infinity for a
// maximum.
//
// Example, bfloat16, maximum: 1.0 has the bits 3f80 and the key 3f80 - 7f = 3f01, -1.0 has the bits
// bf80 and the key c07f - 7f = c000, and the NaN ffff has the key 8000 - 7f = 7f81.
//
// Columns of bools are folded as bytes: a sum or an or is a maximum, a product or an and is a
// minimum. Bools would be in mask registers, of which there are few.
#pragma once

#include "tessera/fusion/kernel.h"

namespace tessera::fusion {

// Returns the kernel with integers instead of floats or bools if it only loads floats of 16 bits or
// columns of bools, folds them to their maxima or minima, and stores those. Returns any other
// kernel unchanged.
Kernel fold_half_extrema(Kernel kernel);

}  // namespace tessera::fusion
