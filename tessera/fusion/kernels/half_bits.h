// Kernels that only look at the bits of 16-bit floats, such as nextafter: they become kernels of
// integers. Elements of float16 and bfloat16 are computed in float32, so a vector has half as many
// of them as of 16-bit integers. (Kernels that only move elements need no pass: codegen/canonical.h
// makes their elements integers.) The pass runs after a kernel is emitted.
#pragma once

#include "tessera/fusion/kernel.h"

namespace tessera::fusion {

// Returns the kernel with the bits of its 16-bit floats as int16, if there are bitcasts of such
// floats, and otherwise only moves, choices and comparisons of them. Else returns it unchanged.
Kernel keep_half_bits(Kernel kernel);

}  // namespace tessera::fusion
