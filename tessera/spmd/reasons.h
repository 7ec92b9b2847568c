// Reasons: why a partitioned program has each of its collectives. What the partitioner adds for a
// reason has its number (Op::reason). When the function is finished, its collectives are listed,
// each with its reason.
#pragma once

#include <string>
#include <vector>

#include "tessera/spmd/partition.h"

namespace tessera::spmd {

struct Reason {
  std::string op, source, text;
  // Of a combined collective: the numbers of its parts, 0 for one without.
  std::vector<int32_t> parts;
};

// Returns the collectives of the function and its regions, in program order; `axes` are those of
// the function's mesh. Ops with a reason, reasons[number - 1], get its op as their source, and lose
// the number.
std::vector<Collective> list_collectives(Function& function, const Mesh& mesh,
                                         const std::vector<Reason>& reasons);

}  // namespace tessera::spmd
