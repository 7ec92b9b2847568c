// Per-example gradients of some examples at a time, one tile after the other in a scan: what they
// give is taken of them, and they are dropped. A tile is some gradients that stay in cache, at least
// one. It takes examples i, i + n, i + 2 n, ... of n tiles, so that every device has its part of it.
#pragma once

#include "tessera/transform/per_example.h"

namespace tessera::transforms {

// What becomes of gradients, [examples, ...], before they are used; of the same shape.
using GradientMap = std::function<Array(const Array&)>;

// Returns the squared norm of each example's gradient by these inputs together, [batch] of float64:
// of the gradients as they are, and of what `map` makes of them.
struct TiledSquares {
  Array plain, mapped;
};
TiledSquares tiled_squares(const ExampleBatch& batch, const std::vector<size_t>& inputs,
                           const GradientMap& map);

// Returns the sum of weights[b] times the mapped gradient of b by this input, in float64.
Array tiled_sum(const ExampleBatch& batch, size_t input, const Array& weights,
                const GradientMap& map);

// Returns squared norms of gradients that are there, [batch, ...], in float64: squares of float32
// neither overflow nor vanish in it.
Array squared_gradients(const Array& gradients);

}  // namespace tessera::transforms
