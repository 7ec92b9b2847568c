// Divides reductions into blocks. A reduction with few results and many elements would keep one
// core busy and the others idle, so it becomes two: partial results of blocks of about kReduceBlock
// elements, then a reduction of these. The division depends on the shape alone, so the result does
// not depend on the number of threads.
//
//   sum of f32[1048576]        -> view (64, 16384), sum over 1, sum over 0
//   sum of f32[1000000, 3], 0  -> view (250, 200, 20, 3), sum over 1 (60 lanes side by side), sum
//                                 over 0 and 1
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Appends the kReduce op `op` (without results), or the same computation in blocks; returns its
// results.
std::vector<int> add_reduction(Graph& graph, GraphOp op, const AxisList& axes);

// Returns whether lanes of a vector should be along the reduced dimensions: the last one (of more
// than one element) is reduced, and is long enough.
bool reduces_rows(const Shape& operand, const Dims& reduced);

}  // namespace tessera::fusion
