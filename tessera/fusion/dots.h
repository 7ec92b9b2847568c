// Dots take in what surrounds them, before kernels are planned:
//   transpose of an operand                     other dimension numbers
//   f16, bf16 -> f32 of operands                the narrow operands themselves: products and sums
//                                               are float32 either way
//   all_reduce (sum) of the result              the sum over instances (DotStep::reduce_axes)
//   + bias along the last dimension, max(., 0)  the epilogue
// each where the value in between has no other reader.
#pragma once

#include "tessera/fusion/graph.h"

namespace tessera::fusion {

// Ops that became part of a dot are left without operands and results. `all_reduces`: these too,
// whose sums are then those of the product.
void absorb_into_dots(Graph& graph, bool all_reduces = true);

DotStep dot_step(const GraphOp& op, std::span<const int> in, int out, const AxisList& axes);

}  // namespace tessera::fusion
