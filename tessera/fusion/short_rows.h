// Kernels over short rows (of the last dimension, or the last few): lanes along the dimension before
// them, and one copy of the body for each column.
//
// Lanes along rows of 3 would have to gather their operands, and to select among what the columns
// compute. Unrolled, each column is its own vector, in which its index is a constant: selections by it
// are decided here. The columns are stored side by side, which code generation does with whole
// vectors, and loads them so (codegen/strided.cc).
//
// Example: a cross product, parallel (n, 3), of which column 0 is
//
//   store c[3*p0 + p1] = p1 < 1 ? a[3*p0 + 1] * b[3*p0 + 2] - ... : ...
//
// becomes parallel (n) with three stores,
//
//   store c[3*p0 + 0] = a[3*p0 + 1] * b[3*p0 + 2] - ...
//   store c[3*p0 + 1] = a[3*p0 + 2] * b[3*p0 + 0] - ...
//   store c[3*p0 + 2] = a[3*p0 + 0] * b[3*p0 + 1] - ...
#pragma once

#include "tessera/fusion/kernel.h"

namespace tessera::fusion {

// Longest rows that are unrolled.
inline constexpr int64_t kShortRow = 9;

// Returns the kernel with its short rows unrolled; the kernel as it is if it has none, if it folds,
// or if its operands are no closer together along the dimension before.
Kernel unroll_short_rows(Kernel kernel);

}  // namespace tessera::fusion
