// The reverse derivative of while loops that treat every element alike: each element of what is
// carried comes from the same element of what was carried before, as in a series or a continued
// fraction that is summed until all elements have converged. However long such a loop runs, what
// comes out of it are as many numbers an element as went in, so that their derivatives by each
// other are found on the way, forward, and are all that the way back needs.
#pragma once

#include <optional>

#include "tessera/control/control_flow_ops.h"

namespace tessera::control {

// `mask`: the carries that have tangents once the loop runs. Empty where it is another loop.
std::optional<LinearizeResult> linearize_pointwise_while(std::span<const Array> primals,
                                                         const std::vector<bool>& has_tangent,
                                                         const std::vector<bool>& mask,
                                                         const WhileParams& p);

}  // namespace tessera::control
