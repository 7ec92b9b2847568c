#include "tessera/transform/example_tiles.h"

#include <algorithm>
#include <numeric>

#include "tessera/mesh/device.h"
#include "tessera/ops/control/control_flow_rules.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::transforms {
namespace {

// What the gradients of a tile may take.
constexpr int64_t kTileBytes = 1 << 20;

// The devices that may have a part each of `size` examples.
int64_t device_parts(int64_t size) {
  return std::max<int64_t>(1, std::gcd(size, static_cast<int64_t>(devices().size())));
}

// Examples in a tile: a divisor of `size`, some of every device.
int64_t tile_size(int64_t size, int64_t bytes) {
  const int64_t parts = device_parts(size), each = size / parts;
  for (int64_t t = std::min(each, kTileBytes / std::max<int64_t>(1, bytes) / parts); t > 1; --t)
    if (each % t == 0) return t * parts;
  return parts;
}

// Tile `at` of [size, ...], for tiles of this many examples.
Array tile_of(const Array& x, int64_t tile, const Array& at) {
  Shape shape = x.shape();
  shape[0] = x.shape()[0] / tile;
  shape.insert(shape.begin(), tile);
  return lax::squeeze(lax::dynamic_slice_in_dim(lax::reshape(x, shape), at, 1, 1), {1});
}

using TileFn = std::function<Array(const Array& gradients, const Array& weights)>;

// fn of each tile: added up where `sum` says of which type, or one after the other, [tiles, ...].
Array over_tiles(const ExampleBatch& batch, size_t input, const Array& weights, int64_t tile,
                 const std::optional<Type>& sum, const TileFn& fn) {
  const std::vector<Array> mapped = batch.mapped();
  const auto of_tile = [&](const Array& at) {
    std::vector<Array> some;
    for (const Array& x : mapped) some.push_back(tile_of(x, tile, at));
    return fn(batch.with_mapped(some).gradients(input),
              weights.defined() ? tile_of(weights, tile, at) : Array());
  };
  const int64_t count = batch.size() / tile;
  control_flow::ScanSpec spec{.length = count};
  spec.xs = {lax::iota(int32, {count})};
  if (sum) spec.carry = {control_flow::zero_of(*sum)};
  return control_flow::make_scan(spec, [&](const std::vector<Array>& x) {
    const Array result = of_tile(x.back());
    return std::vector<Array>{sum ? lax::add(x[0], result) : result};
  })[0];
}

}  // namespace

Array squared_gradients(const Array& gradients) {
  Dims dims;
  for (int64_t d = 1; d < gradients.ndim(); ++d) dims.push_back(d);
  Array squares = lax::mul(gradients, gradients);
  if (is_complex(gradients.dtype())) {
    const Array re = lax::real(gradients), im = lax::imag(gradients);
    squares = lax::add(lax::mul(re, re), lax::mul(im, im));
  }
  return dims.empty() ? squares : lax::reduce_sum(squares, dims);
}

Array tiled_squares(const ExampleBatch& batch, size_t input, const GradientMap& map) {
  const int64_t size = batch.size(),
                tile = tile_size(size, 4 * batch.program().inputs[input].elements());
  if (tile == size) return squared_gradients(map(batch.gradients(input)));
  const Array norms =
      over_tiles(batch, input, Array(), tile, std::nullopt,
                 [&](const Array& g, const Array&) { return squared_gradients(map(g)); });
  return lax::reshape(lax::transpose(norms, {1, 0}), {size});
}

Array tiled_sum(const ExampleBatch& batch, size_t input, const Array& weights,
                const GradientMap& map) {
  const Type& type = batch.program().inputs[input];
  const DType dtype = accumulation_dtype(type.dtype);
  const int64_t size = batch.size(), parts = device_parts(size),
                tile = tile_size(size, 4 * type.elements());
  // Each device adds up its own examples; the devices' sums are added once.
  const TileFn part = [&](const Array& g, const Array& w) {
    const Array scales = lax::broadcast_in_dim(w, g.shape(), {0});
    const Array scaled = lax::mul(map(g), lax::convert_element_type(scales, dtype));
    const Array taken =
        lax::select(lax::eq(scales, lax::full_like(scales, 0)), lax::full_like(scaled, 0), scaled);
    Shape shape = g.shape();
    shape[0] /= parts;
    shape.insert(shape.begin(), parts);
    return lax::reduce_sum(lax::reshape(taken, shape), {1});
  };
  Type sum{.dtype = dtype, .shape = type.shape};
  sum.shape.insert(sum.shape.begin(), parts);
  const Array sums = tile == size ? part(batch.gradients(input), weights)
                                  : over_tiles(batch, input, weights, tile, sum, part);
  return lax::reduce_sum(sums, {0});
}

}  // namespace tessera::transforms
