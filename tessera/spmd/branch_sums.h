// Sums over devices leave branches: where every way of a branch ends in the same all_reduce for one
// of its results, the branch returns what is summed and one all_reduce follows it.
//
//   %r = case %i { a; all_reduce(a) } { b; all_reduce(b) }   ->   %s = case %i { a } { b }
//                                                               %r = all_reduce(%s)
//
// A program then holds (and is priced for) one of them, and it is next to others that it may join.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::spmd {

// Of a partitioned function, and of the regions in it.
Function sums_after_branches(const Function& function);

}  // namespace tessera::spmd
