// Batching: applies a Function to every example of a mapped dimension at once, by the rules of its
// ops.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/batch_axis.h"

namespace tessera::transforms {

// Returns the results of `function` on operands that are mapped at dimensions `dims` (-1 for an
// operand that is the same for every example), and the mapped dimensions of the results. Call it
// under a BatchAxis::Scope; it binds ops in the current trace. Throws UserError for an op without a
// batching rule.
BatchResult batch_function(const Function& function, std::span<const Array> operands,
                           std::span<const int> dims);

}  // namespace tessera::transforms
