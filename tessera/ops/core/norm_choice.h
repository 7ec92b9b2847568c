// norm_choice: an identity op on the squared norms of per-example gradients. It names the parameter
// and the method by which its norms are computed, and explain() prints it
// (per_example/per_example_norms.h chooses the method).
#pragma once

#include <string>

#include "tessera/ir/function.h"

namespace tessera::ops {

struct NormChoiceParams {
  std::string parameter;  // the parameter's path in the arguments
  std::string method;
  double flops = 0, bytes = 0;  // cost for all examples, in addition to the plain step
};
extern const OpDef& norm_choice_op;
// Returns the params of a norm_choice; null for other ops.
const NormChoiceParams* norm_choice_of(const Op& op);

}  // namespace tessera::ops
