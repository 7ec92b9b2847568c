// concatenate: arrays one after the other along a dimension.
#pragma once

#include <span>

#include "tessera/ir/array.h"

namespace tessera::ops {

struct ConcatenateParams {
  int64_t dimension = 0;
};
extern const OpDef& concatenate_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Operands of one dtype, and of one shape but for `dimension`. One operand is returned as it is.
Array concatenate(std::span<const Array> operands, int64_t dimension);

}  // namespace tessera::lax
