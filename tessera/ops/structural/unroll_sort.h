// Sorts many short lines by columns: each position of a line is a vector over all lines, and
// positions are compared and exchanged in a fixed order, as in bubble sort:
//
//   sort of f32[n, 3]      (c0, c1, c2) = columns
//                          exchange (c1, c2), exchange (c0, c1)     c0 is the first of three
//                          exchange (c1, c2)
//
// Only neighbours are exchanged, and only if the second is before the first, so the sort is stable.
// If just the first columns are read, the exchanges of the others are dead. A sort that is called
// takes some 100 ns for each line of 3, the kernel that computes the exchanges 5.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of sort (ops/core/unroll_rule.h): null if lines are few or long, or if the order
// is not one of at most two keys.
FlatFn unrolled_sort(const OpParams& params, std::span<const Type> operands, const Type& result);

}  // namespace tessera::ops
