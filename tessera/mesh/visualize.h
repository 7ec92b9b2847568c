// Draws which device holds which part of an array. visualize_array_sharding prints the drawing.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/shape.h"
#include "tessera/mesh/sharding.h"

namespace tessera {

struct VisualizeOptions {
  // Scales the height of the drawing; its width follows from the array's aspect ratio.
  double scale = 1;
  int64_t min_width = 9;   // the least width of a cell, in columns
  int64_t max_width = 80;  // the limit of a cell and of the drawing, in columns
};

// Returns the drawing. Arrays of rank 1 and 2 are drawn to scale, as JAX does: each shard is a box
// that contains the platform and the ids of the devices that hold it.
//
//   ┌───────┬───────┐
//   │CPU 0,2│CPU 1,3│
//   └───────┴───────┘
//
// If that is wider than max_width (JAX then drops the labels), cells shrink to their labels; then
// long lists of ids become ranges (`0-7`, `0-56:8` is every eighth); then the columns are drawn in
// several blocks, each under the indices that it covers (`[:, 0:32]`). Uneven shards show the
// indices that they hold. Arrays of other ranks, and those without elements, are listed, with one
// line for the devices and indices of each shard. Throws UserError if the spec is longer than the
// shape, and if an option is not positive.
std::string sharding_table(const Shape& global, const Sharding& sharding,
                           const VisualizeOptions& options = {});

}  // namespace tessera
