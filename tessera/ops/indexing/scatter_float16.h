// The loops of a scatter over elements of float16, by the processor's conversions of such numbers.
// The compiler has none of them for processors of every kind, so those of scatter_folds.cc call a
// function for each element.
#pragma once

#include <optional>

#include "tessera/ops/indexing/scatter_folds.h"

namespace tessera::ops {

// Returns the loops for a sum, product, minimum or maximum; nullopt if the processor cannot convert
// float16.
std::optional<ScatterFolds> scatter_folds_of_float16(ScatterKind kind);

}  // namespace tessera::ops
