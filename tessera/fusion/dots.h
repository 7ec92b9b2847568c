// Dots as steps.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

DotStep dot_step(const GraphOp& op, std::span<const int> in, int out, const AxisList& axes);

}  // namespace tessera::fusion
