// Makes a small product of matrices or vectors, or a batch of them, a kernel: a library call costs
// several times its arithmetic, and a loop that contains one could not be one function.
#pragma once

#include <optional>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// Returns the kernel of a product with at most 4,096 multiplications of a matrix and a vector, 512
// of two matrices, or 216 of each pair of a batch. Returns nothing if `dot` is larger, has an
// epilogue, a sum over instances, an order of its sums or another dtype for sums, or if no vector
// of its operands is contiguous.
std::optional<KernelStep> small_product(const DotStep& dot, const std::vector<Slot>& slots);

}  // namespace tessera::fusion
