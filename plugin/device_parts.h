// Represents what each device holds of a value as an array of Tessera, with a leading dimension
// that is sharded over mesh axes and has each device's own value as an element. The plugin uses it
// for parts of a sum (parts_of_sums.h) and for replicas (replicas.h).
#pragma once

#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

int64_t size_of(const Mesh& mesh, const ir::AxisNames& axes);

// Returns the sharding of such an array.
NamedSharding with_leading(const NamedSharding& sharding, const ir::AxisNames& axes);

// If result r of `main` comes from a manual computation that ends in a sum over exactly these axes,
// and nothing else reads it, makes it the array of the summands. Otherwise returns false and
// changes nothing.
bool return_summands(ir::Function& main, size_t r, const ir::AxisNames& axes);

// If only a manual computation reads argument i of `main`, and in it the first device along these
// axes takes the whole argument and the others take zeros (as interchange/formats/control_format.cc
// reads unreduced arguments), makes the argument the array of the devices' own summands, which the
// computation then takes directly. Otherwise returns false and changes nothing.
bool take_summands(ir::Function& main, size_t i, const ir::AxisNames& axes);

// If result r of `main` comes from a manual computation and depends on a callback inside, returns
// the manual axes that its spec does not name. Otherwise returns none.
ir::AxisNames unnamed_axes_of_callbacks(const ir::Function& main, size_t r);

}  // namespace tessera::plugin
