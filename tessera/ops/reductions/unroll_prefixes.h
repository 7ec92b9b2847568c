// Folds of all elements up to each one, by a body of its own, as elementwise ops: what reduce_window
// does with windows as long as the dimension (cumlogsumexp, as JAX writes it).
//
// The dimension is divided into blocks. The elements of all blocks are folded side by side, then the
// folds of whole blocks in the same way, and what is before a block is folded with the elements in it:
//
//   x          a b c d | e f g h           blocks of 4
//   inside     a ab abc abcd | e ef efg efgh
//   before     init | init abcd
//   result     fold(before, inside)
//
// That are some two folds an element.
#pragma once

#include "tessera/ops/reductions/reduce_window.h"

namespace tessera::ops {

// Returns the folds of `x` along dimension d, beginning with `init`, in the order of the elements, or
// from the last one with `reverse`. The body is of two scalars, pointwise and associative.
Array unrolled_prefixes(const FunctionRef& body, const Array& x, const Array& init, int64_t d,
                        bool reverse);

}  // namespace tessera::ops
