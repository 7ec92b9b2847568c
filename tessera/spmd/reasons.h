// Reasons: why each collective of a partitioned program is there. What the partitioner adds for a
// reason has its number (Op::reason); when the function is finished its collectives are listed,
// each with its reason.
#pragma once

#include <string>
#include <vector>

#include "tessera/spmd/partition.h"

namespace tessera::spmd {

struct Reason {
  std::string op, source, text;
  std::vector<int32_t> parts;  // of what combines several: their numbers, 0 where one has none
};

// The collectives of the function and its regions, in program order; `axes` of the function's mesh.
// Ops with a reason, reasons[number - 1], get its op as their source, and lose the number.
std::vector<Collective> list_collectives(Function& function, const Mesh& mesh,
                                         const std::vector<Reason>& reasons);

}  // namespace tessera::spmd
