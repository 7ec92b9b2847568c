// Prefix folds by a custom body, as elementwise ops. They are reduce_windows whose windows are as
// long as the dimension (cumlogsumexp, as JAX writes it).
//
// The dimension is divided into blocks. Prefix folds are computed inside of all blocks at once,
// then in the same way for the folds of whole blocks. Finally the fold of all earlier blocks is
// combined with the folds in each block:
//
//   x          a b c d | e f g h           blocks of 4
//   inside     a ab abc abcd | e ef efg efgh
//   before     init | init abcd
//   result     fold(before, inside)
//
// This takes about two folds per element.
#pragma once

#include "tessera/ops/reductions/reduce_window.h"

namespace tessera::ops {

// Returns the prefix folds of arrays of one shape along dimension d, beginning with the scalars
// `inits`, in the order of the elements, or from the last one on with `reverse`. The body is a
// pointwise, associative function (acc..., x...) -> acc... of scalars.
std::vector<Array> unrolled_prefixes(const FunctionRef& body, const std::vector<Array>& x,
                                     const std::vector<Array>& inits, int64_t d, bool reverse);

}  // namespace tessera::ops
