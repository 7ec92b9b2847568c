// Shardy's unreduced axes: along them devices hold parts that a value is the sum of. To the ops of a
// program a value is the sum; what a device holds matters where it comes in or goes out, at main's
// arguments and results (ParsedModule) and at a manual computation's.
#pragma once

#include "tessera/ir/type.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::ir {

// Their names. UserError for parts of axes, and for names that the mesh does not have.
AxisNames unreduced_axes(const Mesh& mesh, std::span<const AxisRef> axes);

}  // namespace tessera::ir
