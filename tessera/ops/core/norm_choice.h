// A mark on the squared norms of per-example gradients that names their parameter and how they were
// computed. It is the identity; explain() prints it (per_example/per_example_norms.h makes the
// choice).
#pragma once

#include <string>

#include "tessera/ir/function.h"

namespace tessera::ops {

struct NormChoiceParams {
  std::string parameter;  // its path in the arguments
  std::string method;
  double flops = 0, bytes = 0;  // of all examples, in addition to the plain step
};
extern const OpDef& norm_choice_op;
// Returns the params of such a mark; null for other ops.
const NormChoiceParams* norm_choice_of(const Op& op);

}  // namespace tessera::ops
