// Folds by a body that need not be commutative, such as compositions of functions: (a, b) and (c,
// d) for x -> a x + b. Vectors fold elements that are far from each other, so that a body which is
// only associative would get them in another order. Here each lane folds a part of neighbouring
// elements.
//
//   fold of [a b c d e f g h]   ->   parts [a b c d], [e f g h]
//                                    folds [abcd, efgh] side by side
//                                    init abcd efgh
#pragma once

#include <vector>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"

namespace tessera::ops {

// Returns the folds of arrays of one shape over the dimensions. The body is elementwise; there is
// at least one element.
std::vector<Array> folded_in_parts(const Function& body, const std::vector<Array>& x,
                                   const std::vector<Array>& inits, const Dims& dims);

}  // namespace tessera::ops
