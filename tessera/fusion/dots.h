// Dots absorb adjacent ops, before kernels are planned:
//   transpose of an operand                     becomes other dimension numbers
//   f16, bf16 -> f32 of operands                becomes narrow operands: products and sums are
//                                               float32 in either case
//   all_reduce (sum) of the result              becomes the sum over instances
//                                               (DotStep::reduce_axes)
//   + bias along the last dimension, max(., 0)  becomes the epilogue
// each if the value in between has no other reader.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Ops that became part of a dot are left without operands and results. `all_reduces`: absorbs these
// too, so that their sums are those of the product.
void absorb_into_dots(Graph& graph, bool all_reduces = true);

DotStep dot_step(const GraphOp& op, std::span<const int> in, int out, const AxisList& axes);

}  // namespace tessera::fusion
