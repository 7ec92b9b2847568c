// Moves sums over devices out of conditionals: if every branch ends in the same all_reduce for one
// of its results, the branches return the operand of the sum, and one all_reduce follows.
//
//   %r = case %i { a; all_reduce(a) } { b; all_reduce(b) }   ->   %s = case %i { a } { b }
//                                                               %r = all_reduce(%s)
//
// The program then contains (and pays for) one all_reduce, and it may be combined with adjacent
// ones.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::spmd {

// Returns the partitioned function with sums moved in it and in its regions.
Function sums_after_branches(const Function& function);

}  // namespace tessera::spmd
