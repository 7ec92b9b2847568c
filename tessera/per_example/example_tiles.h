// Per-example gradients of some examples at a time, one tile after the other in a scan: what they
// give is taken of them, and they are dropped. A tile is some gradients that stay in cache, at least
// one. It takes examples i, i + n, i + 2 n, ... of n tiles, so that every device has its part of it.
#pragma once

#include "tessera/per_example/per_example.h"

namespace tessera::per_example {

// What becomes of gradients, [examples, ...], before they are used; of the same shape.
using GradientMap = std::function<Array(const Array&)>;

// Returns the squared norm of each example's gradient by these inputs together, [batch] of float64:
// of the gradients as they are, and of what `map` makes of them.
struct TiledSquares {
  Array plain, mapped;
};
TiledSquares tiled_squares(const ExampleBatch& batch, const std::vector<size_t>& inputs,
                           const GradientMap& map);

// Returns what examples give to a sum, in the dtype of the sum, of their gradients [examples, ...] and
// their weights [examples].
using Contribution = std::function<Array(const Array& gradients, const Array& weights)>;
// weights[b] times the gradient of b, in float64 or complex128.
Array weighted(const Array& gradients, const Array& weights);
// The same on a grid: rounded to whole numbers, of int32.
Array on_grid(const Array& gradients, const Array& weights);

// Returns the sum over examples of what they give by this input.
Array tiled_sum(const ExampleBatch& batch, size_t input, const Array& weights,
                const Contribution& contribution);

// Returns squared norms of gradients that are there, [batch, ...], in float64: squares of float32
// neither overflow nor vanish in it.
Array squared_gradients(const Array& gradients);

}  // namespace tessera::per_example
