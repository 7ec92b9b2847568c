// Divides reductions into blocks. A reduction with few results and many elements would use one core
// and leave the others idle, so it becomes two: one computes partial results of blocks of about
// kReduceBlock elements, another combines them. The division depends on the shape alone, so the
// result does not depend on the number of threads.
//
//   sum of f32[1048576]        -> view (64, 16384), sum over 1, sum over 0
//   sum of f32[1000000, 3], 0  -> view (250, 200, 20, 3), sum over 1 (60 lanes side by side), sum
//                                 over 0 and 1
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Appends the kReduce op `op` (given without results), or ops that compute the same in blocks;
// returns its results.
std::vector<int> add_reduction(Graph& graph, GraphOp op, const AxisList& axes);

// Returns whether vector lanes should be along the reduced dimensions: the last dimension of more
// than one element is reduced and, with those before it that are reduced, long enough.
bool reduces_rows(const Shape& operand, const Dims& reduced);
// Returns whether a reduction folds its elements one after the other
// (ops/reductions/ordered_fold.h).
bool folds_in_order(const GraphOp& op);
// Returns whether the reduction has lanes along reduced dimensions, as above; one in order has not.
bool reduces_rows(const Graph& g, const GraphOp& op);

}  // namespace tessera::fusion
