// What each device holds of a value, as an array of Tessera: it has a leading dimension, sharded
// over mesh axes, whose elements are the devices' own. The plugin uses it for parts of a sum
// (parts_of_sums.h).
#pragma once

#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

int64_t size_of(const Mesh& mesh, const ir::AxisNames& axes);

// Returns the sharding of such an array.
NamedSharding with_leading(const NamedSharding& sharding, const ir::AxisNames& axes);

// If result r of `main` is that of a manual computation that ends in the sum over exactly these
// axes, and nothing else reads it, makes it the array of the summands. Otherwise returns false and
// changes nothing.
bool return_summands(ir::Function& main, size_t r, const ir::AxisNames& axes);

// If only a manual computation reads argument i of `main`, and of it the first device along these
// axes takes all and the others zeros (as interchange/formats/control_format.cc reads unreduced
// arguments), makes it the array of the devices' own summands, which the computation takes
// directly. Otherwise returns false and changes nothing.
bool take_summands(ir::Function& main, size_t i, const ir::AxisNames& axes);

// If result r of `main` is that of a manual computation and depends on the results of a callback
// inside, returns the manual axes that its spec does not name. Otherwise returns none.
ir::AxisNames unnamed_axes_of_callbacks(const ir::Function& main, size_t r);

}  // namespace tessera::plugin
