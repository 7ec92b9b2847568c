// Retyping of regions for other manual axes. A region is typed for the axes over which its op's
// operands vary. If the op is bound again to operands that vary over other axes, the types inside
// must change. Every op with regions implements OpDef::retype with the functions below;
// FunctionTrace and the parser call it when they add an op.
//
// After: each input of a region varies over the axes of its operand (a carry also over axes that a
// trip adds), and every value in the region over the axes that its op requires.
#pragma once

#include <span>
#include <vector>

#include "tessera/ir/function.h"

namespace tessera::ir {

// Returns for each type the axes over which it varies.
std::vector<AxisNames> variance_of(std::span<const Type> types);

// Returns `region` with input k varying over inputs[k], or `region` itself if that is so already.
FunctionRef retyped(const FunctionRef& region, std::span<const AxisNames> inputs);

// Does the same for the body of a loop whose results 0, 1, ... are carried to its inputs
// first_carry, first_carry + 1, ... `inputs` are the axes of the initial values; carries also vary
// over axes that the body adds.
FunctionRef retyped_loop(const FunctionRef& body, std::vector<AxisNames> inputs, size_t first_carry,
                         size_t num_carry);

}  // namespace tessera::ir
