// Unrolls kernels over short rows (the last dimension, or the last few): lanes run along the
// dimension before the row, and each column gets a copy of the body.
//
// Lanes along rows of 3 would have to gather their operands, and to select among what the columns
// compute. Unrolled, each column is a vector of its own and its index is a constant, so selections
// by the index are decided here. The columns are adjacent in memory; code generation loads and
// stores them with whole vectors (codegen/strided.cc).
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

// The length of the longest rows that are unrolled.
inline constexpr int64_t kShortRow = 16;
// The least number of such rows: fewer do not fill vectors.
inline constexpr int64_t kLeastShortRows = 64;

// Returns the kernel with its short rows unrolled. Returns it unchanged if it has no short rows, if
// it folds, or if its operands are no closer together along the dimension before the row.
Kernel unroll_short_rows(Kernel kernel);

}  // namespace tessera::fusion
