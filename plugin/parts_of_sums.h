// Represents unreduced arguments and results, of which each device holds a part of a sum (Shardy's
// unreduced axes), as arrays that Tessera can shard.
#pragma once

#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

// Returns the module with a main whose arguments and results have no unreduced axes. An unreduced
// argument gets a leading dimension, sharded over these axes (in the mesh's order), over which main
// sums. An unreduced result gets one, of which the elements are parts that add up to the value
// (tessera/spmd/parts_of_sums.h chooses them). The bytes that a device holds of either stay the
// same. The arguments and results are those marked by input_unreduced and output_unreduced.
interchange::ParsedModule split_unreduced(interchange::ParsedModule module);

// Returns a device's program with the shapes that JAX sees. In `function`, the marked arguments and
// results have a leading dimension of size 1, for the device's part.
ir::Function with_held_shapes(ir::Function function, const std::vector<bool>& inputs,
                              const std::vector<bool>& outputs);

}  // namespace tessera::plugin
