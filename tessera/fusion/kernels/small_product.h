// Computes a small product of matrices or vectors, or a batch of them, by a kernel. A library call
// costs several times their arithmetic, and a loop that contains one cannot be one function.
#pragma once

#include <optional>

#include "tessera/fusion/schedule.h"

namespace tessera::fusion {

// Returns a kernel for a product with at most 65,536 multiplications (a matrix times a vector),
// 16,384 (a vector times a matrix), 512 (two matrices), or 216 for each pair of a batch. Returns
// nullopt if `dot` is larger, or has sums of more than 1,024 products and more than 4,096 of them;
// if it has an epilogue, a sum over instances, a required order of sums, another dtype for sums, or
// one that is not float32, float64, int32 or int64; and if no vector of its operands is contiguous.
std::optional<KernelStep> small_product(const DotStep& dot, const std::vector<Slot>& slots);

}  // namespace tessera::fusion
