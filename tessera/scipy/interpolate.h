// Interpolation on grids, with the names of jax.scipy.interpolate.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::scipy::interpolate {

enum class GridMethod : uint8_t { kLinear, kNearest };
struct GridOptions {
  GridMethod method = GridMethod::kLinear;
  bool bounds_error = false;  // throws for points outside, whose values must be known
  std::optional<Array> fill_value = Array(NAN);  // outside; absent: extrapolates
};
// Interpolates a function of points in d dimensions whose values on a grid are known. `points` are
// d ascending vectors; `values` has a dimension for each of them, followed by any further ones.
//
//   RegularGridInterpolator f({x, y}, values);
//   f(xi);   // xi [..., 2] -> [...]
class RegularGridInterpolator {
 public:
  // Throws UserError for other shapes, and for vectors with known values that do not ascend.
  RegularGridInterpolator(std::vector<Array> points, const Array& values,
                          const GridOptions& options = {});
  // Returns the values at points [..., d]: [..., further dimensions of the values]. It has
  // derivatives by the points and by the values.
  Array operator()(const Array& xi) const;
  Array operator()(const Array& xi, GridMethod method) const;

 private:
  std::vector<Array> points_;
  Array values_;
  GridOptions options_;
};

}  // namespace tessera::scipy::interpolate
