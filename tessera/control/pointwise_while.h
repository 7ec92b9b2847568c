// The reverse derivative of pointwise while loops: each element of a carry depends only on the same
// element of the previous carries, as in a series or a continued fraction that is summed until all
// elements have converged. For each element, such a loop has few inputs and outputs, however many
// trips it makes. So the derivatives of the outputs by the inputs are computed forward, during the
// loop, and the reverse pass needs nothing else.
#pragma once

#include <optional>

#include "tessera/base/namespaces.h"
#include "tessera/control/control_flow_ops.h"

namespace tessera::control {

// Returns the linearization of the loop, or nullopt if it is not pointwise. `mask` marks the
// carries that have tangents after the loop.
std::optional<LinearizeResult> linearize_pointwise_while(std::span<const Array> primals,
                                                         const std::vector<bool>& has_tangent,
                                                         const std::vector<bool>& mask,
                                                         const WhileParams& p);

}  // namespace tessera::control
