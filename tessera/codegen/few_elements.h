// Kernels of a few elements, inside of a loop that is one function of machine code. Examples:
// products of 3 x 3 matrices, and stack({y - x, x * z, x * y}).
//
// Rows of small matrices are shorter than a vector, so that lanes over all elements would have to
// gather, and to store with masks, and the next kernel could not read the values from registers. A
// single row whose elements are computed differently would compute each of them as a scalar, and
// then choose for each lane. So each element has code of its own, on scalars: LLVM unrolls the
// loops, and the values stay in registers from kernel to kernel and from trip to trip.
#pragma once

#include "tessera/fusion/kernel.h"

namespace tessera::codegen {

// Returns whether a canonical kernel with `elements` elements is such a kernel. `lanes` is the
// number of lanes of its vectors.
bool has_few_elements(const Kernel& kernel, int64_t elements, int lanes);

// Returns the kernel that computes element `index` of the flat parallel index alone. Choices by the
// element's number are made.
Kernel kernel_of_element(const Kernel& kernel, int64_t index);

}  // namespace tessera::codegen
