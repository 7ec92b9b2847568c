// Functions of ops/ that take a C++ callable: it is traced here, where tracing is.
#pragma once

#include "tessera/trace/trace.h"

namespace tessera::lax {

// Folds `dims` of the operands (of one shape) with `computation`: (acc..., x...) -> acc... on
// scalars, elementwise, associative; one initial scalar an operand. UserError where the computation
// uses arrays of outside.
std::vector<Array> reduce(std::span<const Array> operands, std::span<const Array> inits,
                          const ir::FlatFn& computation, const Dims& dims);

}  // namespace tessera::lax
