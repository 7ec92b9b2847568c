// The reverse derivative of pointwise while loops: each element of a carry depends only on the same
// element of the carries before, as in a series or a continued fraction that is summed until all
// elements have converged. Such a loop has as many outputs for each element as inputs, however many
// trips it runs. So the derivatives of the outputs by the inputs are computed forward, during the
// loop, and the reverse pass needs nothing else.
#pragma once

#include <optional>

#include "tessera/base/namespaces.h"
#include "tessera/control/control_flow_ops.h"

namespace tessera::control {

// Returns nullopt if the loop is not pointwise. `mask`: the carries that have tangents after the
// loop.
std::optional<LinearizeResult> linearize_pointwise_while(std::span<const Array> primals,
                                                         const std::vector<bool>& has_tangent,
                                                         const std::vector<bool>& mask,
                                                         const WhileParams& p);

}  // namespace tessera::control
