// A small product of a matrix with a vector, or of two vectors, as a kernel: a library call costs
// several times its arithmetic, and inside a loop it would keep the trip from being one function.
#pragma once

#include <optional>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// Nothing if `dot` is larger, has an epilogue, a batch, a sum over instances, an order of its sums or a dtype of other
// sums, or if its matrix lies so that no vector of it is contiguous.
std::optional<KernelStep> vector_product(const DotStep& dot, const std::vector<Slot>& slots);

}  // namespace tessera::fusion
