// Interpolation on grids, with the names of jax.scipy.interpolate.
#pragma once

#include <optional>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::scipy::interpolate {

enum class GridMethod : uint8_t { kLinear, kNearest };
struct GridOptions {
  GridMethod method = GridMethod::kLinear;
  bool bounds_error = false;  // a point outside is an error; points are known then
  std::optional<Array> fill_value = Array(NAN);  // outside; absent: extrapolates
};
// A function of points in d dimensions that is known on a grid: `points`, d ascending vectors, and
// `values` of their sizes and any further dimensions.
//
//   RegularGridInterpolator f({x, y}, values);
//   f(xi);   // xi [..., 2] -> [...]
class RegularGridInterpolator {
 public:
  // UserError for other shapes, and for vectors that are known and do not ascend.
  RegularGridInterpolator(std::vector<Array> points, const Array& values,
                          const GridOptions& options = {});
  // At points [..., d]: [..., further dimensions of the values]. With derivatives by points and values.
  Array operator()(const Array& xi) const;
  Array operator()(const Array& xi, GridMethod method) const;

 private:
  std::vector<Array> points_;
  Array values_;
  GridOptions options_;
};

}  // namespace tessera::scipy::interpolate
