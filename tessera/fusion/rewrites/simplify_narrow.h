// Folds of integers in as few bits as are read, a rule of simplify.
//
//   wide = convert(x : uint8) : uint32           kept = convert(init) : uint8
//   sum = reduce add (wide, init), dims [1]  ->  result = reduce add (x, kept), dims [1]
//   result = convert(sum) : uint8
//
// The low bits of a sum or a product depend only on the low bits of its operands. JAX sums narrow
// integers in wide ones even if the caller asked for a narrow result, and a vector has four times
// as many lanes for bytes as for words.
#pragma once

#include <optional>

#include "tessera/fusion/rewrites/simplify_updates.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

// A fold in a narrow dtype: its params, the narrow elements before they are converted to `dtype`,
// and the initial value before it is.
struct NarrowFold {
  OpParams params;
  ValueId elements, init;
  DType dtype;
};

// Returns the fold that computes `op` if `op` is a conversion of a wider fold, as above. The caller
// makes sure that nothing else reads the wide fold.
std::optional<NarrowFold> narrow_fold(const Function& f, const MakerOf& maker_of, const Op& op,
                                      const Type& type);

}  // namespace tessera::fusion
