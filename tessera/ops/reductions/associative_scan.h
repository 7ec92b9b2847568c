// associative_scan: the folds of all elements up to each one along an axis, in linear work and log
// n levels, in JAX's order, so that its derivatives too are JAX's.
#pragma once

#include <functional>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::lax {

// Combines arrays of earlier and of later elements, elementwise.
using FoldArrays =
    std::function<std::vector<Array>(const std::vector<Array>& a, const std::vector<Array>& b)>;

// `x` is at least one array, all of one shape. With `reverse` the folds are of the elements from
// each one on, later ones first.
std::vector<Array> associative_scan(const FoldArrays& fold, std::vector<Array> x, int64_t axis,
                                    bool reverse = false);

}  // namespace tessera::lax
