// Text of gather and scatter.
#pragma once

#include "tessera/ir/op_format.h"

namespace tessera::ops::formats {

// <{dimension_numbers = #stablehlo.gather<...>, slice_sizes = array<i64: 1, 8>}>
OpFormat gather();
// <{scatter_dimension_numbers = #stablehlo.scatter<...>, ...}> ({ region })
OpFormat scatter();

}  // namespace tessera::ops::formats
