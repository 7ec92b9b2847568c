// Moves readers before updates. An update of v takes v's memory only if nothing reads v afterwards.
// A value that reads a small part of v, and is used together with the result of the update, would
// be computed in a kernel after the update. So it is computed and stored before the update.
//
// Example: r = dynamic_slice(v, i); v' = dynamic_update_slice(v, u, j); y = r + dynamic_slice(v',
// k). If r were not stored before v', the kernel of y would read both v and v'.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Makes each update (is_update) wait for such readers of its operand: appends their results to the
// operands of the op, and sorts the ops again. Steps ignore these operands.
void order_updates(Graph& graph);

}  // namespace tessera::fusion
