// Loops and branches that devices take differently. All devices run one schedule, so where what decides
// varies over mesh axes (in a shard_map, or where the program says so),
//
//   a loop runs until it has ended on every device: an all_reduce of the condition says whether it has,
//   and a device that is done keeps its carry;
//   a branch computes every way, and a device takes its own.
//
//   while c { b }          ->   while all_reduce(c, or) { select(c, b, carry) }
//   case %i { a } { b }    ->   select(%i == 0, a, b)
//
// As batching does with a batch of conditions; programs that are traced here say so themselves
// (compile/control_flow.cc), those that are read do not. A call of the host in a branch happens on the
// devices that take it. What holds collectives, or effects deeper inside, is left as it is: there all
// devices must come along, and fusion refuses it unless they do.
#pragma once

#include "tessera/spmd/reasons.h"

namespace tessera::spmd {

// Of a partitioned function, and of the regions in it; `reasons` gets one for each all_reduce added.
Function without_divergence(const Function& function, const Mesh& mesh,
                            std::vector<Reason>& reasons);

}  // namespace tessera::spmd
