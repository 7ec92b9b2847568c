// Per-example gradients of some examples at a time, one tile after the other in a scan: what they
// give is taken of them, and they are dropped. A tile is some gradients that stay in cache, at least
// one. It takes examples i, i + n, i + 2 n, ... of n tiles, so that every device has its part of it.
#pragma once

#include "tessera/transform/per_example.h"

namespace tessera::transforms {

// What becomes of gradients, [examples, ...], before they are used; of the same shape.
using GradientMap = std::function<Array(const Array&)>;

// [batch]: the squared norm of each example's gradient by these inputs, together.
Array tiled_squares(const ExampleBatch& batch, const std::vector<size_t>& inputs,
                    const GradientMap& map);

// For each of these inputs the sum of weights[b] times the gradient of b; with `drop` without those
// of weight 0, whatever they are.
std::vector<Array> tiled_sums(const ExampleBatch& batch, const std::vector<size_t>& inputs,
                              const Array& weights, const GradientMap& map, bool drop = true);

// Squared norms of gradients that are there, [batch, ...].
Array squared_gradients(const Array& gradients);

}  // namespace tessera::transforms
