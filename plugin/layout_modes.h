// The orders of dimensions in memory that a program requests for its arguments and results, as
// JAX's Format does. Inside of a program all arrays are row-major. So an array in another order has
// permuted dimensions, and main transposes it.
#pragma once

#include <string>
#include <vector>

#include "plugin/layouts.h"
#include "tessera/base/shape.h"
#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

struct LaidOutModule {
  // Its main takes and returns row-major arrays with the dimensions in memory order, from the
  // outermost to the innermost.
  interchange::ParsedModule module;
  std::vector<MinorToMajor> inputs, outputs;
};

// Returns the module with its layout modes applied. An argument without a requested order is
// row-major. The program chooses the order of a result in the mode "auto": if the result is a
// transpose, that of the transposed array. Throws ApiError for text that is not an order.
LaidOutModule with_memory_orders(interchange::ParsedModule module);

// Returns a device's program with the dimensions that JAX sees, which main transposes to memory
// order and back.
ir::Function with_array_shapes(ir::Function function, const std::vector<MinorToMajor>& inputs,
                               const std::vector<MinorToMajor>& outputs);

// Returns the orders as attributes of a module in MHLO, with a comma after each; an empty text if
// all are row-major. A jaxlib without the extension (layouts.h) reads them from the program's text.
std::string layout_attributes(const std::vector<MinorToMajor>& inputs,
                              const std::vector<MinorToMajor>& outputs);

// Returns the shape of the array with this shape in memory.
Shape shape_of_array(const Shape& memory, const MinorToMajor& order);

}  // namespace tessera::plugin
