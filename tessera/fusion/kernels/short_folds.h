// Unrolls folds over short rows: lanes run along the rows' dimension, and each column of a row is a
// vector of its own.
//
// Lanes along rows of 8 would fill half a vector or less, and the lanes of each row would have to
// be folded with each other. Unrolled, a fold is an elementwise operation on vectors, which code
// generation loads whole (codegen/strided.cc). So are the stores of a row's elements, and what the
// kernel keeps of them in scratch memory stays in registers. The order of a sum of floats is the
// same with and without unrolling, because the number of rows decides between the two.
//
// Example: parallel (n), loop 0 (8): reduce max of x[8*p0 + i0], loop 1 (): store y[p0]. It becomes
// parallel (n), one loop (): store y[p0] = max(max(init, x[8*p0]), x[8*p0 + 1]) ...
#pragma once

#include "tessera/fusion/kernel.h"

namespace tessera::fusion {

// The most nodes of a kernel times the elements of its rows: larger bodies take more time to
// compile than they save.
inline constexpr int64_t kMostFoldNodes = 512;

// Returns whether a fold over rows of so many elements is unrolled if nothing else is against it.
bool is_unrolled_fold(ReduceKind kind, DType dtype, int64_t columns);

// Returns the kernel with its short folds unrolled. Returns it unchanged if it has none, if there
// are rows of other lengths, or if an operand is not adjacent along them.
Kernel unroll_short_folds(Kernel kernel);

}  // namespace tessera::fusion
