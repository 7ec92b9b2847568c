// A rule of simplify: a slice of a concatenation becomes a slice of one operand, if it reads
// nothing of the others. So the concatenation is not computed if nothing else reads it. The
// gradient of a loop that JAX unrolls concatenates what its steps keep, and slices it again.
//
//   slice(concatenate(x [2], y [3]), 2:4)    ->    slice(y, 0:2)
#pragma once

#include <optional>

#include "tessera/fusion/rewrites/simplify_updates.h"
#include "tessera/ir/op_def.h"

namespace tessera::fusion {

// Returns a slice of an earlier array with the same result as `slice`: of the operand of another
// slice, or of an operand of a concatenation that has all its elements. Returns nullopt if there is
// none, or if `slice` is another op or has no elements.
std::optional<Op> slice_of_origin(const Function& function, const MakerOf& maker, const Op& slice);

// Removes the operands of a concatenation that have no elements; leaves other ops as they are.
void remove_empty_operands(const Function& function, Op& op);

}  // namespace tessera::fusion
