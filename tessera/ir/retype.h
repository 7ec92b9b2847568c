// Typing by variance, anew. A region is typed for what the operands of its op vary over; where the
// op is bound again to operands that vary over other axes, the types inside follow. Every op with
// regions says how (OpDef::retype), by the functions here; FunctionTrace and the parser ask for it
// as they add an op.
//
// After: a region's inputs vary over what the operands vary over that stand for them (a carry over
// what a trip makes it vary over, too), and every value in it over what its op says.
#pragma once

#include <span>
#include <vector>

#include "tessera/ir/function.h"

namespace tessera::ir {

// What each of the types varies over.
std::vector<AxisNames> variance_of(std::span<const Type> types);

// `region` where input k varies over inputs[k]; itself if they do already.
FunctionRef retyped(const FunctionRef& region, std::span<const AxisNames> inputs);

// The same for the body of a loop whose results 0, 1, ... are carried to its inputs first_carry,
// first_carry + 1, ...: `inputs` gives what the carries start with; they vary over what the body
// adds, too.
FunctionRef retyped_loop(const FunctionRef& body, std::vector<AxisNames> inputs, size_t first_carry,
                         size_t num_carry);

}  // namespace tessera::ir
