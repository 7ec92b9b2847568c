// Emit: one group of a plan as a Kernel, pulled from its outputs: an element of a result asks for
// elements of its operands, down to loads, and index maps become arithmetic on addresses. Loops are
// cut where a reshape in their middle needs it, and joined again at the end where all strides
// allow, so that what is contiguous is one loop.
#pragma once

#include <memory>
#include <variant>

#include "tessera/fusion/plan.h"

namespace tessera::fusion {

struct EmittedKernel {
  Kernel kernel;
  std::vector<int> values;  // of the graph, one a buffer; -1 for scratch
};

class Emitter {
 public:
  Emitter(const Graph& graph, const Plan& plan, int64_t last_level_cache);
  ~Emitter();
  // Otherwise the value that has to be stored: an index of it that no affine function of the loops
  // gives would be needed.
  std::variant<EmittedKernel, int> emit(int group);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::fusion
