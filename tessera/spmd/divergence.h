// Loops and branches that devices would execute differently. All devices run the same schedule, so
// if a condition varies over mesh axes (in a shard_map, or if the program says so),
//
//   a loop runs until it has ended on every device, which an all_reduce of the condition finds out;
//   a device whose loop has ended keeps its carry;
//   all branches of a conditional are computed, and each device selects its results.
//
//   while c { b }          ->   while all_reduce(c, or) { select(c, b, carry) }
//   case %i { a } { b }    ->   select(%i == 0, a, b)
//
// Batching does the same for a batch of conditions. Programs that are traced here already have this
// form (compile/control_flow.cc), programs that are read do not. A host call in a branch happens
// only on the devices that take the branch. Loops and branches with collectives, or with effects
// deeper inside, stay as they are: all devices must execute them together, and fusion rejects them
// if a condition varies.
#pragma once

#include "tessera/spmd/reasons.h"

namespace tessera::spmd {

// Returns the partitioned function rewritten so, also in its regions. `reasons` gets a reason for
// each all_reduce that is added.
Function without_divergence(const Function& function, const Mesh& mesh,
                            std::vector<Reason>& reasons);

}  // namespace tessera::spmd
