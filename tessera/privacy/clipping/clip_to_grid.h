// Clip norms in steps of a grid (ClipOptions::grid_scale), lowered so that each element of a
// clipped gradient can be rounded to a whole number. Only clipped_sum.cc uses it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tessera/privacy/clipping/clip_groups.h"

namespace tessera::privacy::internal {

// The number of grid steps in a unit of the gradients: a number, or a float64 scalar that the
// program reads.
class StepsPerUnit {
 public:
  explicit StepsPerUnit(double number) : number_(number) {}
  explicit StepsPerUnit(Array array) : array_(std::move(array)) {}

  // Returns x times this number, for x of float64.
  Array times(const Array& x) const;

 private:
  double number_ = 0;
  std::optional<Array> array_;
};

// Lowers the norm of each group so far that a gradient which is clipped to it and then rounded to
// the grid is no longer than the norm before. Returns the grid. `elements` has the number of
// elements of each leaf. Throws the UserErrors of ClipOptions::grid_scale, naming `op`.
StepsPerUnit clip_to_grid(std::string_view op, const ClipOptions& options,
                          std::vector<ClipGroup>& groups, const std::vector<int64_t>& elements,
                          int64_t examples);

}  // namespace tessera::privacy::internal
