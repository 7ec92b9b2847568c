// Rewrites the functions inside an op: regions of loops and branches, bodies of manual
// computations, and the functions of calls, checkpoints and custom derivatives.
#pragma once

#include <functional>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

// Returns the params of `op` with the rewritten functions, or unchanged if it has none.
OpParams map_regions(const Op& op, const std::function<Function(const Function&)>& rewrite);

}  // namespace tessera::interchange
