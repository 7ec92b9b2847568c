// Per-example gradients in tiles: a scan computes the gradients of some examples at a time, uses
// them, and drops them. A tile has as many gradients as stay in cache, at least one. Of n tiles,
// tile i takes the examples i, i + n, i + 2 n, ..., so that each tile has examples of every device.
#pragma once

#include "tessera/per_example/per_example.h"

namespace tessera::per_example {

// Maps gradients, [examples, ...], to the gradients that are clipped, of the same shape.
using GradientMap = std::function<Array(const Array&)>;

// The squared norm of each example's gradient by all of these inputs together, [batch] of float64.
// `plain` is that of the gradients, `mapped` that of map(gradients); without a map both are equal.
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
// Returns weights[b] times the gradient of b, rounded to whole numbers, as int32.
Array on_grid(const Array& gradients, const Array& weights);

// Returns the sum over examples of their contributions, made from the gradients by this input.
Array tiled_sum(const ExampleBatch& batch, size_t input, const Array& weights,
                const Contribution& contribution);

// Returns the squared norm of each example's gradient, [batch], for gradients of [batch, ...]. It
// is computed in float64, in which squares of float32 neither overflow nor vanish.
Array squared_gradients(const Array& gradients);

}  // namespace tessera::per_example
