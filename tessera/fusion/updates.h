// Updates: ops that leave most of their operand as it is, such as a dynamic_update_slice of a small
// part or a scatter. If nothing reads the operand afterwards, its memory becomes the result's, and
// a step writes only the part (UpdateStep and CallStep::updates in schedule.h). Steps that read the
// operand are put before the update if dependencies allow.
//
// Example, the body of a loop (x: f32[n], i: s32[]):
//   y = f(x[i]); x' = dynamic_update_slice(x, y, i + 1)
// becomes a kernel that stores y and i + 1, and a step that writes one element of x. A kernel with
// the update in it would read and write all n elements.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Makes a kUpdate of each dynamic_update_slice of at most half of its operand if the operand is
// stored and no op that needs the result reads it, and if the result has to be stored too. A result
// that need not be stored becomes a kUpdate if a gather reads at least half of it and the operand's
// memory is the graph's own: a value that the graph makes, or an input i with own_inputs[i] (an
// empty list: none). Before: a new graph. After: the users are up to date.
void find_updates(Graph& graph, const std::vector<bool>& own_inputs = {});

// Returns whether the op's first result may take its first operand's memory.
bool is_update(const GraphOp& op);

}  // namespace tessera::fusion
