// Per-example gradients in tiles: a scan computes the gradients of some examples at a time, uses
// them, and drops them. A tile has as many gradients as stay in cache, at least one. Of n tiles,
// tile i takes the examples i, i + n, i + 2 n, ..., so that every device has its part of it.
#pragma once

#include "tessera/per_example/per_example.h"

namespace tessera::per_example {

// Maps gradients, [examples, ...], to those that are used, of the same shape.
using GradientMap = std::function<Array(const Array&)>;

// Squared norms of each example's gradient by these inputs together, [batch] of float64: of the
// gradients themselves, and of what `map` makes of them.
struct TiledSquares {
  Array plain, mapped;
};
TiledSquares tiled_squares(const ExampleBatch& batch, const std::vector<size_t>& inputs,
                           const GradientMap& map);

// Returns the contribution of examples to a sum, in the dtype of the sum, from their gradients
// [examples, ...] and their weights [examples].
using Contribution = std::function<Array(const Array& gradients, const Array& weights)>;
// Returns weights[b] times the gradient of b, in float64 or complex128.
Array weighted(const Array& gradients, const Array& weights);
// Returns the same rounded to whole numbers, as int32.
Array on_grid(const Array& gradients, const Array& weights);

// Returns the sum over examples of their contributions by this input.
Array tiled_sum(const ExampleBatch& batch, size_t input, const Array& weights,
                const Contribution& contribution);

// Returns the squared norms of gradients, [batch, ...], in float64, in which squares of float32
// neither overflow nor vanish.
Array squared_gradients(const Array& gradients);

}  // namespace tessera::per_example
