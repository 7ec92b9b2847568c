// The functions inside an op, each rewritten: regions of loops and branches, bodies of manual
// computations, what calls, checkpoints and functions with derivatives of their own stand for.
#pragma once

#include <functional>

#include "tessera/ir/function.h"

namespace tessera::interchange {

// The params of `op` with them; its own where there are none.
OpParams map_regions(const Op& op, const std::function<Function(const Function&)>& rewrite);

}  // namespace tessera::interchange
