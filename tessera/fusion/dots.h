// Dots absorb adjacent ops, before kernels are planned:
//   transpose of an operand                     becomes other dimension numbers
//   transpose that exchanges the free dimensions of the operands in the result
//                                               exchanges the operands
//   f16, bf16 -> f32 of operands                becomes narrow operands: products and sums are
//                                               float32 in either case
//   all_reduce (sum) of the result              becomes the sum over instances
//                                               (DotStep::reduce_axes)
//   + bias along the last dimension, max(., 0)  becomes the epilogue
// Except for operands, the value in between must have no other reader. An operand's transpose or
// conversion stays for its other readers.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Absorbs adjacent ops into the dots of the graph. An op that became part of a dot is left without
// operands and results. `all_reduces`: whether to absorb all_reduces, too; then the runtime sums
// the products.
void absorb_into_dots(Graph& graph, bool all_reduces = true);

DotStep dot_step(const GraphOp& op, std::span<const int> in, int out, const AxisList& axes);

}  // namespace tessera::fusion
