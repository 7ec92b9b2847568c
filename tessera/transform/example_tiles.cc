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

// Examples in a tile: a divisor of `size`, some of every device; 0 of none.
int64_t tile_size(int64_t size, int64_t bytes) {
  if (size == 0) return 0;
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

// Examples in a tile of gradients by the largest of the inputs; one input's are there at a time.
int64_t tile_size(const ExampleBatch& batch, const std::vector<size_t>& inputs) {
  int64_t bytes = 1;
  for (size_t input : inputs) bytes = std::max(bytes, 4 * batch.program().inputs[input].elements());
  return tile_size(batch.size(), bytes);
}

using TileFn = std::function<std::vector<Array>(const ExampleBatch& tile, const Array& weights)>;

// fn of each tile: added up where `sums` says of which types, else one after the other,
// [tiles, ...].
std::vector<Array> over_tiles(const ExampleBatch& batch, const Array& weights, int64_t tile,
                              const std::vector<Type>& sums, const TileFn& fn) {
  const std::vector<Array> mapped = batch.mapped();
  const int64_t count = batch.size() / tile;
  control_flow::ScanSpec spec{.length = count};
  spec.xs = {lax::iota(int32, {count})};
  for (const Type& type : sums) spec.carry.push_back(control_flow::zero_of(type));
  return control_flow::make_scan(spec, [&](const std::vector<Array>& x) {
    std::vector<Array> some;
    for (const Array& of_all : mapped) some.push_back(tile_of(of_all, tile, x.back()));
    std::vector<Array> out =
        fn(batch.with_mapped(some), weights.defined() ? tile_of(weights, tile, x.back()) : Array());
    for (size_t s = 0; s < sums.size(); ++s) out[s] = lax::add(x[s], out[s]);
    return out;
  });
}

Array exact(const Array& x) { return lax::convert_element_type(x, sum_dtype(x.dtype())); }

// The sum of weights times gradients, a part for each device: [parts, ...], or the sum where there is
// one.
Array parts_sum(const Array& gradients, const Array& weights, int64_t parts) {
  const Array taken = exact(lax::mul(
      gradients, lax::convert_element_type(lax::broadcast_in_dim(weights, gradients.shape(), {0}),
                                           gradients.dtype())));
  if (parts == 1) return lax::reduce_sum(taken, {0});
  Shape shape = gradients.shape();
  shape[0] /= parts;
  shape.insert(shape.begin(), parts);
  return lax::reduce_sum(lax::reshape(taken, shape), {1});
}

}  // namespace

Array squared_gradients(const Array& gradients) {
  Dims dims;
  for (int64_t d = 1; d < gradients.ndim(); ++d) dims.push_back(d);
  const auto squares = [](const Array& x) { return lax::mul(exact(x), exact(x)); };
  const Array all = is_complex(gradients.dtype())
                        ? lax::add(squares(lax::real(gradients)), squares(lax::imag(gradients)))
                        : squares(gradients);
  return dims.empty() ? all : lax::reduce_sum(all, dims);
}

TiledSquares tiled_squares(const ExampleBatch& batch, const std::vector<size_t>& inputs,
                           const GradientMap& map) {
  const ExampleBatch used = batch.only(inputs);
  const TileFn squares = [&](const ExampleBatch& tile, const Array&) {
    std::vector<Array> sums(map ? 2 : 1);
    const auto add = [](Array& sum, const Array& part) {
      sum = sum.defined() ? lax::add(sum, part) : part;
    };
    for (size_t input : inputs) {
      const Array gradients = tile.gradients(input);
      add(sums[0], squared_gradients(gradients));
      if (map) add(sums[1], squared_gradients(map(gradients)));
    }
    return sums;
  };
  const int64_t size = batch.size(), tile = tile_size(batch, inputs);
  std::vector<Array> norms =
      tile == size ? squares(used, Array()) : over_tiles(used, Array(), tile, {}, squares);
  if (tile != size)
    for (Array& n : norms) n = lax::reshape(lax::transpose(n, {1, 0}), {size});
  return {norms[0], norms.back()};
}

Array tiled_sum(const ExampleBatch& batch, size_t input, const Array& weights,
                const GradientMap& map) {
  const ExampleBatch used = batch.only({input});
  const int64_t size = batch.size(), parts = device_parts(size), tile = tile_size(batch, {input});
  const TileFn part = [&](const ExampleBatch& some, const Array& w) {
    const Array gradients = some.gradients(input);
    return std::vector<Array>{parts_sum(map ? map(gradients) : gradients, w, parts)};
  };
  const Type& type = batch.program().inputs[input];
  Type sum{.dtype = sum_dtype(type.dtype), .shape = type.shape};
  if (parts > 1) sum.shape.insert(sum.shape.begin(), parts);
  // Each device adds up its own examples; the devices' sums are added once.
  const Array out =
      tile == size ? part(used, weights)[0] : over_tiles(used, weights, tile, {sum}, part)[0];
  return parts > 1 ? lax::reduce_sum(out, {0}) : out;
}

}  // namespace tessera::transforms
