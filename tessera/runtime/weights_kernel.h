// A kernel between weights and the convolution that reads them: a conversion, a transposition, a
// layer taken from a stack. If its result is read by that convolution alone, and it reads nothing but
// an argument or a constant, it is a part of how the weights are packed (packed_weights.h): it runs
// when they are packed, not in each run.
#pragma once

#include <optional>
#include <vector>

#include "tessera/runtime/packed_weights.h"
#include "tessera/runtime/storage_plan.h"

namespace tessera::runtime {

struct WeightsKernel {
  int step;    // the kernel's
  int source;  // the slot that it reads
};
// Returns the kernel of each step that is a convolution and has one.
std::vector<std::optional<WeightsKernel>> find_weights_kernels(const Schedule& schedule,
                                                               const StoragePlan& plan);

// Returns the form that `then` makes of the kernel's result; null: the result itself.
PackedFormRef weights_kernel_form(const Kernel& kernel, KernelCode code, PackedFormRef then);

}  // namespace tessera::runtime
