// What the passes that make and change kernels share: making nodes, each only once, and removing
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/fusion/kernel.h"

namespace tessera::fusion {

// Returns the index of a node equal to `node`, which is appended if there is none.
int find_or_add(std::vector<KernelNode>& nodes, KernelNode node);

// Returns a constant with the low bytes of the number: an index wraps in its dtype.
KernelNode integer_node(DType dtype, int64_t value);

// Removes the nodes that no store and no reduction needs: their dtypes would determine the number
// of lanes, too.
void remove_unused_nodes(Kernel& kernel);

}  // namespace tessera::fusion
