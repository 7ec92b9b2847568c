// Arguments and results of which each device holds a part of a sum (Shardy's unreduced axes), as
// arrays that Tessera lays out.
#pragma once

#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

// The module with a main whose arguments and results have no unreduced axes: such an argument gets a
// leading dimension, cut over these axes (in the mesh's order), that main sums over; such a result gets
// one whose first element is the value and the others zeros. What a device holds of either keeps its
// bytes. input_unreduced and output_unreduced say which.
interchange::ParsedModule split_unreduced(interchange::ParsedModule module);

// A device's program, whose arguments and results of these places have a leading dimension of size 1
// for a device's part, with the shapes that JAX sees.
ir::Function with_held_shapes(ir::Function function, const std::vector<bool>& inputs,
                              const std::vector<bool>& outputs);

}  // namespace tessera::plugin
