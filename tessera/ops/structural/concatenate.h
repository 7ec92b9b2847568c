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

// Operands have one dtype, and one shape except for `dimension`. A single operand is returned as it
// is.
Array concatenate(std::span<const Array> operands, int64_t dimension);

}  // namespace tessera::lax
