// ordered_fold: a reduce whose elements are folded one after the other, in row-major order,
// starting with the initial value. So its body need not be associative, and results are those of
// XLA's CPU backend, which folds windows in this way. A kernel folds neighbouring results in its
// lanes.
//
// The operands are n arrays of one shape, then n initial scalars; there are n results.
#pragma once

#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/forward.h"

namespace tessera::ops {

struct OrderedFoldParams {
  Dims dims;
  FunctionRef body;  // (acc..., x...) -> acc..., elementwise ops on scalars
};
// Only the compiler makes this op (ops/reductions/fold_windows.h).
extern const OpDef& ordered_fold_op;

std::vector<Array> ordered_fold(const std::vector<Array>& x, const std::vector<Array>& inits,
                                FunctionRef body, const Dims& dims);

// Returns whether the op is an ordered fold.
bool folds_in_order(const Op& op);

}  // namespace tessera::ops
