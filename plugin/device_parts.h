// What each device holds of a value, as an array of Tessera: a leading dimension, cut over mesh axes,
// whose elements are the devices' own. So the plugin lays out parts of a sum (parts_of_sums.h).
#pragma once

#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

int64_t size_of(const Mesh& mesh, const ir::AxisNames& axes);

// The sharding of such an array.
NamedSharding with_leading(const NamedSharding& sharding, const ir::AxisNames& axes);

// Where result r of `main` is one of a manual computation that ends in the sum over exactly these axes,
// and nothing else reads it: makes it the array of the summands. False, and nothing changed, where the
// result is none of this kind.
bool return_summands(ir::Function& main, size_t r, const ir::AxisNames& axes);

// Where argument i of `main` goes into a manual computation alone, whose first device along these axes
// takes all of it and the others zeros (as interchange/formats/control_format.cc reads unreduced arguments): makes
// it the array of the devices' own summands, which the computation takes as they are. False, and nothing
// changed, where the argument is none of this kind.
bool take_summands(ir::Function& main, size_t i, const ir::AxisNames& axes);

// Of result r of `main`, where it is one of a manual computation and depends on what a callback there
// returns: the manual axes that its spec does not name. Else none.
ir::AxisNames unnamed_axes_of_callbacks(const ir::Function& main, size_t r);

}  // namespace tessera::plugin
