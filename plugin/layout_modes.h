// The orders of dimensions in memory that a program requests for its arguments and results, as JAX's
// Format does. Inside of a program all arrays are row-major, so an array in another order is one
// with permuted dimensions, which main transposes.
#pragma once

#include <vector>

#include "plugin/layouts.h"
#include "tessera/base/shape.h"
#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

struct LaidOutModule {
  // The arguments and results of main are row-major arrays of the dimensions in memory, from the
  // outermost to the innermost one.
  interchange::ParsedModule module;
  std::vector<MinorToMajor> inputs, outputs;
};

// Returns the module with its layout modes applied. An argument without an order is row-major. The
// program chooses the order of a result in the mode "auto": that of the array which the result is a
// transpose of. Throws ApiError for text that is not an order.
LaidOutModule with_memory_orders(interchange::ParsedModule module);

// Returns the shape of the array which has this shape in memory.
Shape shape_of_array(const Shape& memory, const MinorToMajor& order);

}  // namespace tessera::plugin
