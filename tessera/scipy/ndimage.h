// Images of any number of dimensions, with the names of jax.scipy.ndimage.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera::scipy::ndimage {

// The elements outside of an array: a constant; the nearest element; the array repeated; the array
// mirrored without repeating its edge (kMirror), or repeating it (kReflect).
enum class Mode : uint8_t { kConstant, kNearest, kWrap, kMirror, kReflect };
struct MapCoordinatesOptions {
  Mode mode = Mode::kConstant;
  Array cval = 0.0;  // for kConstant
};
// Returns the array at coordinates, one array of them for each dimension, all of one shape: the
// nearest element (order 0), or linear interpolation between neighbours (order 1). The result has
// the array's dtype; integers are rounded. Throws UserError for another order or number of
// coordinates.
Array map_coordinates(const Array& input, const std::vector<Array>& coordinates, int order,
                      const MapCoordinatesOptions& options = {});

}  // namespace tessera::scipy::ndimage
