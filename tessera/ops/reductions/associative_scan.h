// associative_scan: the folds of all elements up to each one along an axis, in linear work and
// log n levels, in JAX's order, so that also its derivatives are JAX's.
#pragma once

#include <functional>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::lax {

// What arrays of earlier and of later elements make together, elementwise.
using FoldArrays =
    std::function<std::vector<Array>(const std::vector<Array>& a, const std::vector<Array>& b)>;

// `x`: at least one array, all of one shape. With `reverse` from each element on, the later ones
// first.
std::vector<Array> associative_scan(const FoldArrays& fold, std::vector<Array> x, int64_t axis,
                                    bool reverse = false);

}  // namespace tessera::lax
