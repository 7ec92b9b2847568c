// Reasons: why each collective of a partitioned program is there. While ops are bound for a reason,
// their source holds its number; when the function is finished the collectives are listed, each
// with its reason, and sources are those of the user's program again.
#pragma once

#include <string>
#include <vector>

#include "tessera/spmd/partition.h"

namespace tessera {

struct Reason {
  std::string op, source, text;
};

// What a SourceScope says while ops are bound for reasons[number - 1].
std::string reason_mark(size_t number);

// The collectives of the function and its regions, in program order; `axes` of the function's mesh.
std::vector<Collective> list_collectives(Function& function, const Mesh& mesh,
                                         const std::vector<Reason>& reasons);

}  // namespace tessera
