// Clip norms in steps of a grid (ClipOptions::grid_scale): what leaves room for rounding each element
// of a clipped gradient to a whole number. For clipped_sum.cc.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tessera/privacy/clipping/clip_groups.h"

namespace tessera::privacy::internal {

// How many steps of the grid a unit of the gradients is: a number, or a float64 scalar of the program.
class StepsPerUnit {
 public:
  explicit StepsPerUnit(double number) : number_(number) {}
  explicit StepsPerUnit(Array array) : array_(std::move(array)) {}

  // x of float64 times it.
  Array times(const Array& x) const;

 private:
  double number_ = 0;
  std::optional<Array> array_;
};

// Lowers the norm of each group so that what is clipped to it, and of which each element is then rounded
// to a step of the grid, is no longer than the norm was; returns the grid. `elements` of each leaf.
// UserErrors naming `op`: those of ClipOptions::grid_scale.
StepsPerUnit clip_to_grid(std::string_view op, const ClipOptions& options,
                          std::vector<ClipGroup>& groups, const std::vector<int64_t>& elements,
                          int64_t examples);

}  // namespace tessera::privacy::internal
