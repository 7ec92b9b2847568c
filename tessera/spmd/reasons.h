// Reasons: why a partitioned program has each of its collectives. Op::reason is the number of the
// reason for which the partitioner added the op. When the function is finished, its collectives are
// listed with their reasons.
#pragma once

#include <string>
#include <vector>

#include "tessera/spmd/partition.h"

namespace tessera::spmd {

struct Reason {
  std::string op, source, text;
  // For a combined collective: the numbers of its parts' reasons; 0 for a part without one.
  std::vector<int32_t> parts;
};

// Returns the collectives of the function and its regions, in program order; `axes` are those of
// the function's mesh. Each op with a reason, reasons[number - 1], gets the reason's op as its
// source, and its number is reset.
std::vector<Collective> list_collectives(Function& function, const Mesh& mesh,
                                         const std::vector<Reason>& reasons);

}  // namespace tessera::spmd
