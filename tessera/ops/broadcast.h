// broadcast_in_dim: an array repeated along new and along size-1 dimensions.
#pragma once

#include "tessera/ir/array.h"

namespace tessera {

struct BroadcastParams {
  Shape shape;
  Dims dims;  // the result's dimension for each of the operand's
};
extern const OpDef& broadcast_in_dim_op;

namespace lax {

Array broadcast_in_dim(const Array& x, const Shape& shape, const Dims& broadcast_dimensions);

}  // namespace lax
}  // namespace tessera
