#include "tessera/scipy/ndimage.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"

namespace tessera::scipy::ndimage {

namespace {

struct MapParams {
  Mode mode;
  int order;
};

// Returns a position mirrored into n elements without repeating the edge: a triangular wave.
Array mirrored(const Array& place, int n) {
  const int half = n - 1;
  return half == 0 ? zeros_like(place) : abs(remainder(place + half, 2 * half) - half);
}

Array place_inside(Mode mode, const Array& place, int n) {
  switch (mode) {
    case Mode::kConstant:
      return clip(place, 0, n - 1);
    case Mode::kNearest:
      return clip(place, 0, n - 1);
    case Mode::kWrap:
      return remainder(place, n);
    case Mode::kMirror:
      return mirrored(place, n);
    case Mode::kReflect:
      return floor_divide(mirrored(2 * place + 1, 2 * n + 1) - 1, 2);
  }
  __builtin_unreachable();
}

Array rounded_away(const Array& x) { return is_inexact(x.dtype()) ? lax::round_nearest_afz(x) : x; }

// A neighbour along one dimension, and its weight.
struct Neighbour {
  Array place, weight;
};
std::vector<Neighbour> neighbours(int order, const Array& coordinate) {
  if (order == 0) return {{astype(rounded_away(coordinate), int32), full_like(coordinate, 1)}};
  const Array lower = floor(coordinate), part = coordinate - lower;
  const Array place = astype(lower, int32);
  return {{place, 1 - part}, {place + 1, part}};
}

// The arguments `a` are the array, the value outside, and the coordinates.
Array mapped(const MapParams& p, std::span<const Array> a) {
  const Array& input = a[0];
  const Array outside = as_dtype(a[1], input.dtype());
  const Shape& shape = input.shape();
  // The neighbours in all dimensions so far, as positions in the flattened array.
  struct Corner {
    Array place, weight, inside;
  };
  std::vector<Corner> corners{{}};
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const auto n = static_cast<int>(shape[d]);
    const Array coordinate = a[static_cast<size_t>(d) + 2];
    const Array exact = is_inexact(coordinate.dtype()) || p.order == 0
                            ? coordinate
                            : astype(coordinate, default_float());
    std::vector<Corner> next;
    for (const Corner& corner : corners) {
      for (const Neighbour& neighbour : neighbours(p.order, exact)) {
        const Array at = place_inside(p.mode, neighbour.place, n);
        const Array there = greater_equal(neighbour.place, 0) & less(neighbour.place, n);
        next.push_back(d == 0 ? Corner{at, neighbour.weight, there}
                              : Corner{corner.place * n + at, corner.weight * neighbour.weight,
                                       corner.inside & there});
      }
    }
    corners = std::move(next);
  }
  Array out;
  for (const Corner& corner : corners) {
    Array value = take(input, corner.place, {.mode = IndexMode::kClip});
    if (p.mode == Mode::kConstant) value = where(corner.inside, value, outside);
    const Array part = corner.weight * value;
    out = out.defined() ? out + part : part;
  }
  return astype(is_integer(input.dtype()) ? rounded_away(out) : out, input.dtype());
}

}  // namespace

Array map_coordinates(const Array& input, const std::vector<Array>& coordinates, int order,
                      const MapCoordinatesOptions& o) {
  const char* name = "map_coordinates";
  if (order != 0 && order != 1) value_error(name, "expected order 0 or 1, got {}", order);
  if (input.ndim() == 0 || static_cast<int64_t>(coordinates.size()) != input.ndim())
    value_error(name, "expected one array of coordinates for each dimension of {}, got {}",
                describe(input.type()), coordinates.size());
  std::vector<Array> args{input, o.cval};
  for (const Array& c : coordinates) {
    if (is_complex(c.dtype()) || c.shape() != coordinates[0].shape())
      shape_error(name, "expected real coordinates of one shape, got {} and {}",
                  describe(coordinates[0].type()), describe(c.type()));
    args.push_back(c);
  }
  if (input.size() == 0)
    shape_error(name, "expected an array with elements, got {}", describe(input.type()));
  return composite(name, MapParams{o.mode, order}, args, mapped);
}

}  // namespace tessera::scipy::ndimage
