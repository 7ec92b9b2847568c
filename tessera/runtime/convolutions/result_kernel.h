// ResultKernel: an elementwise kernel that is the only reader of a convolution's result, such as a
// normalisation, a residual and an activation. It runs on each tile of the result as soon as the
// tile is computed, while the tile is in the cache of its core. The result itself is never stored:
// only its tiles are, in the memory of the threads.
//
// join_result_kernels() decides it from the schedule and the storage plan, before the arena is
// planned. The convolution then runs at the kernel's place in the schedule.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tessera/runtime/step_code.h"
#include "tessera/runtime/storage_plan.h"

namespace tessera::runtime {

// Returns for each step that is such a kernel the index of its convolution's step, and -1 for all
// other steps. Extends the lifetimes in the plan: the operands of the convolution are read, and the
// results of the kernel written, from the one step to the other.
std::vector<int> join_result_kernels(const Schedule& schedule, StoragePlan& plan);

// The code of the kernel. `step` and `result` are the kernel's step and the slot that it reads.
class ResultKernel {
 public:
  ResultKernel(const KernelStep& step, const Schedule& schedule, const StoragePlan& plan,
               KernelCode code, int result);
  int64_t code_bytes() const { return code_.bytes; }
  // Runs the kernel on elements [begin, begin + count) of the result of an instance. `tile` has
  // these elements.
  void run(const SlotRef* slots, int64_t instance, const std::byte* tile, int64_t begin,
           int64_t count) const;

 private:
  struct Use {
    int slot;  // -1: the convolution's result
    InstanceMap map;
  };
  KernelCode code_;
  std::vector<Use> buffers_;
  int64_t itemsize_;  // of the convolution's result
};

// The kernel that computes the weights of a convolution, if they are not in the step's rhs.
struct ConvolutionWeights {
  const Kernel* kernel =
      nullptr;  // makes them (weights_kernel.h); null: they are in the step's rhs
  KernelCode code = {};
  int source = -1;  // the slot that the kernel reads; -1: no kernel
};
// Returns the code of a convolution. If it has a `reader`, that computes the step's results.
std::unique_ptr<StepCode> make_convolution_code(const ConvolutionStep& step,
                                                const Schedule& schedule,
                                                const ConvolutionWeights& weights,
                                                std::optional<ResultKernel> reader);

}  // namespace tessera::runtime
