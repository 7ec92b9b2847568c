// associative_scan: inclusive prefix folds along an axis, by a linear number of folds in log n
// levels. The order of folds is JAX's, and so are the derivatives.
#pragma once

#include <functional>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::lax {

// Combines arrays `a` of earlier elements with arrays `b` of later ones, elementwise.
using FoldArrays =
    std::function<std::vector<Array>(const std::vector<Array>& a, const std::vector<Array>& b)>;

// Returns at each position the fold of all elements up to it. With `reverse` it is the fold of all
// elements from it on, beginning with the last one. `x` is one or several arrays of one shape.
std::vector<Array> associative_scan(const FoldArrays& fold, std::vector<Array> x, int64_t axis,
                                    bool reverse = false);

}  // namespace tessera::lax
