// broadcast_in_dim: repeats an array along new dimensions and along dimensions of size 1.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct BroadcastParams {
  Shape shape;
  Dims dims;  // the result's dimension for each dimension of the operand
};
extern const OpDef& broadcast_in_dim_op;

}  // namespace tessera::ops

namespace tessera::lax {

Array broadcast_in_dim(const Array& x, const Shape& shape, const Dims& broadcast_dimensions);
// Returns x with its mapped dimension first, or repeated along a new first one if `dim` is -1.
Array with_batch_first(const Array& x, int dim, int64_t size);

}  // namespace tessera::lax
