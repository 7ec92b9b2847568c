// WeightsKernel: a kernel that computes the weights of a convolution from an argument or a
// constant, for example by a conversion, a transposition or a slice of stacked layers. If it reads
// nothing else, and if only the convolution reads its result, then it is part of the packing of the
// weights (packed_weights.h): it runs when they are packed, not in each run.
#pragma once

#include <optional>
#include <vector>

#include "tessera/runtime/products/packed_weights.h"
#include "tessera/runtime/storage_plan.h"

namespace tessera::runtime {

struct WeightsKernel {
  int step;    // the index of the kernel's step
  int source;  // the slot that the kernel reads
};
// Returns for each step the WeightsKernel, if the step is a convolution that has one.
std::vector<std::optional<WeightsKernel>> find_weights_kernels(const Schedule& schedule,
                                                               const StoragePlan& plan);

// Returns the form that packs the kernel's result by `then`, or the form that is the kernel's
// result if `then` is null.
PackedFormRef weights_kernel_form(const Kernel& kernel, KernelCode code, PackedFormRef then);

}  // namespace tessera::runtime
