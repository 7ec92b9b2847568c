// Retyping for other manual axes. A region is typed for the axes that its op's operands vary over.
// If the op is bound again to operands that vary over other axes, the types inside must follow.
// Every op with regions says how (OpDef::retype), with the functions here; FunctionTrace and the
// parser call that when they add an op.
//
// After: each input of a region varies over the axes that its operand varies over (a carry also
// over those that a trip adds), and every value in it over those that its op says.
#pragma once

#include <span>
#include <vector>

#include "tessera/ir/function.h"

namespace tessera::ir {

// Returns the axes that each of the types varies over.
std::vector<AxisNames> variance_of(std::span<const Type> types);

// Returns `region` with input k varying over inputs[k]; `region` itself if that is so already.
FunctionRef retyped(const FunctionRef& region, std::span<const AxisNames> inputs);

// Returns the same for the body of a loop whose results 0, 1, ... are carried to its inputs
// first_carry, first_carry + 1, ... `inputs` are the axes that the carries start with; they also
// vary over those that the body adds.
FunctionRef retyped_loop(const FunctionRef& body, std::vector<AxisNames> inputs, size_t first_carry,
                         size_t num_carry);

}  // namespace tessera::ir
