// Images of any number of dimensions, with the names of jax.scipy.ndimage.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera::scipy::ndimage {

// What stands outside of an array of a b c: a value; the nearest element; the array over and over;
// mirrored without, or with the edge itself.
enum class Mode : uint8_t { kConstant, kNearest, kWrap, kMirror, kReflect };
struct MapCoordinatesOptions {
  Mode mode = Mode::kConstant;
  Array cval = 0.0;  // of kConstant
};
// The array at coordinates, one array of them a dimension, all of one shape: by the nearest element
// (order 0) or linear between neighbours (order 1). The array's dtype; integers are rounded.
// UserError for another order or number of coordinates.
Array map_coordinates(const Array& input, const std::vector<Array>& coordinates, int order,
                      const MapCoordinatesOptions& options = {});

}  // namespace tessera::scipy::ndimage
