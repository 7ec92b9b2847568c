// Updates: ops that leave most of their operand as it is, a dynamic_update_slice of a small part or
// a scatter. Where nothing reads the operand afterwards its memory becomes the result's, and a step
// writes the part alone (UpdateStep and CallStep::updates in schedule.h); the steps that read the
// operand are put before it, where dependencies allow.
//
// Example, the body of a loop (x: f32[n], i: s32[]):
//   y = f(x[i]); x' = dynamic_update_slice(x, y, i + 1)
// becomes a kernel that stores y and i + 1 and a step that writes one element of x; as a part of a
// kernel it would read and write all n.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Makes a kUpdate of each dynamic_update_slice whose operand is stored and not read once its result
// is there, and whose result has to be stored too; or is only read by gathers, if the operand's
// memory is the graph's own, as that of the inputs in `own_inputs` is (an empty list: of none).
// Before: a new graph. After: the users are up to date.
void find_updates(Graph& graph, const std::vector<bool>& own_inputs = {});

// Whether the op's first result may be its first operand's memory.
bool is_update(const GraphOp& op);

}  // namespace tessera::fusion
