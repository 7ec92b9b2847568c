// Unreduced arguments and results, of which each device holds a part of a sum (Shardy's unreduced
// axes), as arrays that Tessera can shard.
#pragma once

#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

// Returns the module with a main whose arguments and results have no unreduced axes. Such an
// argument gets a leading dimension, sharded over these axes (in the mesh's order), that main sums
// over; such a result gets one whose first element is the value and the others zeros. What a device
// holds of either keeps its bytes. input_unreduced and output_unreduced say which these are.
interchange::ParsedModule split_unreduced(interchange::ParsedModule module);

// Returns a device's program with the shapes that JAX sees. The arguments and results that are
// marked have a leading dimension of size 1 in `function`, for a device's part.
ir::Function with_held_shapes(ir::Function function, const std::vector<bool>& inputs,
                              const std::vector<bool>& outputs);

}  // namespace tessera::plugin
