// concatenate: joins arrays along a dimension.
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

// Returns the operands one after the other along `dimension`. They have one dtype, and shapes that
// differ in `dimension` alone. A single operand is returned as it is.
Array concatenate(std::span<const Array> operands, int64_t dimension);

}  // namespace tessera::lax
