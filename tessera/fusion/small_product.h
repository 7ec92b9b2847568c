// A small product of matrices or vectors, or a batch of them, as a kernel: a library call costs several
// times its arithmetic, and inside a loop it would keep the trip from being one function.
#pragma once

#include <optional>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// Returns the kernel of a product of at most 4,096 multiplications of a matrix and a vector, 512 of two
// matrices, 216 of each pair of a batch. Returns nothing if `dot` is larger, has an epilogue, a sum over instances, an order of its sums
// or a dtype of other sums, or if its operands are so that no vector of them is contiguous.
std::optional<KernelStep> small_product(const DotStep& dot, const std::vector<Slot>& slots);

}  // namespace tessera::fusion
