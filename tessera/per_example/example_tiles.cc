#include "tessera/per_example/example_tiles.h"

#include <algorithm>
#include <numeric>

#include "tessera/control/make_control_flow.h"
#include "tessera/mesh/device.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/complex.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::per_example {
namespace {

// The memory limit for the gradients of a tile.
constexpr int64_t kTileBytes = 1 << 20;

// Returns the number of devices that can each have a part of `size` examples.
int64_t device_parts(int64_t size) {
  return std::max<int64_t>(1, std::gcd(size, static_cast<int64_t>(devices().size())));
}

// Returns the number of examples in a tile: a divisor of `size` that is a multiple of the number of
// devices that share the batch. Returns 0 if only tiles of one example of each device divide the
// batch, although more would fit: one example of each device has another program.
int64_t tile_size(int64_t size, int64_t bytes) {
  const int64_t parts = device_parts(size), each = size / parts,
                most = kTileBytes / std::max<int64_t>(1, bytes) / parts;
  if (most <= 1) return parts;
  for (int64_t t = std::min(each, most); t > 1; --t)
    if (each % t == 0) return t * parts;
  return 0;
}

// Returns tile `at` of [size, ...], for tiles of this many examples.
Array tile_of(const Array& x, int64_t tile, const Array& at) {
  Shape shape = x.shape();
  shape[0] = x.shape()[0] / tile;
  shape.insert(shape.begin(), tile);
  return lax::squeeze(lax::dynamic_slice_in_dim(lax::reshape(x, shape), at, 1, 1), {1});
}

// Returns x, [size, ...], with rows of zeros after it.
Array filled_up(const Array& x, int64_t size) {
  if (x.shape()[0] == size) return x;
  Shape more = x.shape();
  more[0] = size - more[0];
  return lax::concatenate(std::vector<Array>{x, lax::full(more, 0, x.dtype())}, 0);
}
ExampleBatch filled_up(const ExampleBatch& batch, int64_t size) {
  if (batch.size() == size) return batch;
  std::vector<Array> mapped = batch.mapped();
  for (Array& x : mapped) x = filled_up(x, size);
  return batch.with_mapped(mapped);
}

// A batch in tiles. The input with the largest gradient determines the number of examples in a
// tile, because the gradients of one input exist at a time. If no tile divides the batch, the batch
// is padded with examples of zeros.
class Tiling {
 public:
  Tiling(const ExampleBatch& given, const std::vector<size_t>& inputs)
      : size_(given.size()),
        bytes_(largest(given, inputs)),
        batch_(filled_up(given.only(inputs), filled_size())) {}

  const ExampleBatch& batch() const { return batch_; }
  int64_t size() const { return size_; }  // of the batch before padding
  int64_t tile() const { return tile_size(batch_.size(), bytes_); }
  bool whole() const { return tile() == batch_.size(); }

 private:
  static int64_t largest(const ExampleBatch& given, const std::vector<size_t>& inputs) {
    int64_t bytes = 1;
    for (size_t input : inputs)
      bytes = std::max(bytes, 4 * given.program().inputs[input].elements());
    return bytes;
  }
  int64_t filled_size() const {
    const auto unit = 2 * static_cast<int64_t>(devices().size());
    return tile_size(size_, bytes_) > 0 ? size_ : (size_ + unit - 1) / unit * unit;
  }

  const int64_t size_, bytes_;
  const ExampleBatch batch_;
};

using TileFn = std::function<std::vector<Array>(const ExampleBatch& tile, const Array& weights)>;

// Applies fn to each tile and returns the results of all. If `sums` is not empty, it has the types
// of the results, which are added up over the tiles. Otherwise they are stacked, [tiles, ...].
std::vector<Array> over_tiles(const ExampleBatch& batch, const Array& weights, int64_t tile,
                              const std::vector<Type>& sums, const TileFn& fn) {
  const std::vector<Array> mapped = batch.mapped();
  const int64_t count = batch.size() / tile;
  control::ScanSpec spec{.length = count};
  spec.xs = {lax::iota(int32, {count})};
  for (const Type& type : sums) spec.carry.push_back(control::zero_of(type));
  return control::make_scan(spec, [&](const std::vector<Array>& x) {
    std::vector<Array> some;
    for (const Array& of_all : mapped) some.push_back(tile_of(of_all, tile, x.back()));
    std::vector<Array> out =
        fn(batch.with_mapped(some), weights.defined() ? tile_of(weights, tile, x.back()) : Array());
    for (size_t s = 0; s < sums.size(); ++s) out[s] = lax::add(x[s], out[s]);
    return out;
  });
}

Array in_sum_dtype(const Array& x) { return lax::convert_element_type(x, sum_dtype(x.dtype())); }

// Returns the sum of the contributions of each device's examples: [parts, ...], or [...] if there
// is one part.
Array parts_sum(const Array& taken, int64_t parts) {
  if (parts == 1) return lax::reduce_sum(taken, {0});
  Shape shape = taken.shape();
  shape[0] /= parts;
  shape.insert(shape.begin(), parts);
  return lax::reduce_sum(lax::reshape(taken, shape), {1});
}

}  // namespace

Array squared_gradients(const Array& gradients) {
  Dims dims;
  for (int64_t d = 1; d < gradients.ndim(); ++d) dims.push_back(d);
  const auto squares = [](const Array& x) { return lax::mul(in_sum_dtype(x), in_sum_dtype(x)); };
  const Array all = is_complex(gradients.dtype())
                        ? lax::add(squares(lax::real(gradients)), squares(lax::imag(gradients)))
                        : squares(gradients);
  return dims.empty() ? all : lax::reduce_sum(all, dims);
}

Array weighted(const Array& gradients, const Array& weights) {
  return in_sum_dtype(lax::mul(
      gradients, lax::convert_element_type(lax::broadcast_in_dim(weights, gradients.shape(), {0}),
                                           gradients.dtype())));
}

Array on_grid(const Array& gradients, const Array& weights) {
  const Array steps = lax::mul(
      gradients, lax::convert_element_type(lax::broadcast_in_dim(weights, gradients.shape(), {0}),
                                           gradients.dtype()));
  return lax::convert_element_type(lax::round_nearest_even(steps), int32);
}

TiledSquares tiled_squares(const ExampleBatch& batch, const std::vector<size_t>& inputs,
                           const GradientMap& map) {
  const Tiling tiling(batch, inputs);
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
  std::vector<Array> norms = tiling.whole()
                                 ? squares(tiling.batch(), Array())
                                 : over_tiles(tiling.batch(), Array(), tiling.tile(), {}, squares);
  for (Array& n : norms) {
    if (!tiling.whole()) n = lax::reshape(lax::transpose(n, {1, 0}), {tiling.batch().size()});
    if (tiling.size() != tiling.batch().size()) n = lax::slice_in_dim(n, 0, tiling.size());
  }
  return {norms[0], norms.back()};
}

Array tiled_sum(const ExampleBatch& batch, size_t input, const Array& weights,
                const Contribution& contribution) {
  const Tiling tiling(batch, {input});
  const int64_t parts = device_parts(tiling.batch().size());
  const TileFn part = [&](const ExampleBatch& some, const Array& w) {
    // The barrier keeps the order of sums inside an example: if several devices have parts of it,
    // these are added up before examples are summed, as they were for the example's norm.
    const Array gradients = lax::optimization_barrier(some.gradients(input));
    return std::vector<Array>{parts_sum(contribution(gradients, w), parts)};
  };
  if (tiling.whole()) {
    const Array out = part(tiling.batch(), filled_up(weights, tiling.batch().size()))[0];
    return parts > 1 ? lax::reduce_sum(out, {0}) : out;
  }
  const Type& type = batch.program().inputs[input];
  // The contribution of one scalar gradient shows the dtype of the sum.
  const Array one = lax::full(Shape(), 0, accumulation_dtype(type.dtype));
  Type sum{.dtype = contribution(lax::reshape(one, {1}), lax::full({1}, 0, float64)).dtype(),
           .shape = type.shape};
  if (parts > 1) sum.shape.insert(sum.shape.begin(), parts);
  // Each device adds up its own examples; the devices' sums are added once.
  const Array out = over_tiles(tiling.batch(), filled_up(weights, tiling.batch().size()),
                               tiling.tile(), {sum}, part)[0];
  return parts > 1 ? lax::reduce_sum(out, {0}) : out;
}

}  // namespace tessera::per_example
