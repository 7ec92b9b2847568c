// Slices of concatenations, a rule of simplify: a part of one operand is read from that operand.
// The gradient of a loop that JAX unrolls concatenates what its steps keep, and slices it again.
#pragma once

#include <optional>

#include "tessera/fusion/simplify_updates.h"
#include "tessera/ir/op_def.h"

namespace tessera::fusion {

// Returns a slice of an earlier array with the same result as `slice`: of the operand of another
// slice, or of an operand of a concatenation that has all its elements. Returns nullopt if there is
// none, or if `slice` is another op or has no elements.
std::optional<Op> slice_of_origin(const Function& function, const MakerOf& maker, const Op& slice);

// Removes the operands of a concatenation that have no elements; leaves other ops as they are.
void remove_empty_operands(const Function& function, Op& op);

}  // namespace tessera::fusion
