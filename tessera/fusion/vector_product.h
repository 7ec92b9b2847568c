// A small product of a matrix with a vector, or of two vectors, as a kernel: a library call would
// cost several times its arithmetic, and inside a loop it would prevent the trip from being one
// function.
#pragma once

#include <optional>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// Returns nullopt if `dot` is larger, has an epilogue, a batch, a sum over instances, a required
// order of its sums or a dtype with other sums, or if no vector of its matrix is contiguous.
std::optional<KernelStep> vector_product(const DotStep& dot, const std::vector<Slot>& slots);

}  // namespace tessera::fusion
