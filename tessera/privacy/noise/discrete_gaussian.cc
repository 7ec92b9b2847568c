#include "tessera/privacy/noise/discrete_gaussian.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/compile/composite.h"
#include "tessera/compile/control_flow.h"
#include "tessera/ir/format.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/privacy/noise/discrete_gaussian_table.h"
#include "tessera/privacy/noise/leaf_keys.h"
#include "tessera/privacy/noise/random_words.h"
#include "tessera/privacy/noise/shared_noise.h"
#include "tessera/random/sampling.h"

namespace tessera::privacy {

using namespace ops::array_math;

namespace streaming = matrix_factorization::internal;
using random::internal::constant_like;
using random::internal::Words;

namespace {

constexpr const char* kDiscreteGaussianOp = "privacy::discrete_gaussian";

Array shifted_right(const Array& x, uint64_t bits) {
  return lax::shift_right_logical(x, constant_like(x, bits));
}
Array join_words(const Words& words) {
  const Array high = lax::convert_element_type(words.high, uint64);
  return lax::bitwise_or(lax::shift_left(high, constant_like(high, 32)),
                         lax::convert_element_type(words.low, uint64));
}
// Returns table[index], element by element.
Array looked_up(const Array& table, const Array& index) {
  return lax::gather(table, lax::expand_dims(index, {index.ndim()}),
                     {.offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}}, {1},
                     IndexMode::kPromiseInBounds);
}

// One level of a draw: its table and scale, the two words of its key, and by how many bits the
// shared words are rotated.
struct LevelData {
  Array table;  // uint64 [cells * 2]
  Array scale;  // int32
  Array turn;   // uint64
  Array key;    // uint32 [2]
};

// Stacks all levels; their tables have one size.
LevelData stacked_levels(const std::vector<internal::Level>& levels, const Array& keys, int bits) {
  std::vector<uint64_t> tables, turns;
  std::vector<int32_t> scales;
  for (const internal::Level& level : levels) {
    const internal::AliasTable table = internal::alias_table(level.stddev, bits);
    tables.insert(tables.end(), table.words.begin(), table.words.end());
    turns.push_back(21 * turns.size());
    scales.push_back(static_cast<int32_t>(level.scale));
  }
  const auto count = static_cast<int64_t>(levels.size());
  return {lax::constant(Literal::from<uint64_t>(tables, {count, int64_t{2} << bits})),
          lax::constant(Literal::from<int32_t>(scales, {count})),
          lax::constant(Literal::from<uint64_t>(turns, {count})), keys};
}

// Returns a draw from one table, times the scale: the first bit of `high` is the sign, the bits
// after it choose a cell, and the others, then `low`, rotated, are compared with the cell's
// threshold.
Array drawn_level(const LevelData& level, int index_bits, const Array& high, const Array& low) {
  const auto bits = static_cast<uint64_t>(index_bits);
  const auto full = [&](const Array& scalar) {
    return broadcast_array(kDiscreteGaussianOp, scalar, low.shape());
  };
  const Array turn = full(level.turn), back = full(constant_like(level.turn, 64) - level.turn);
  const Array turned =
      lax::bitwise_or(lax::shift_left(low, turn), lax::shift_right_logical(low, back));
  const Array position = lax::shift_left(high, constant_like(high, bits + 1));
  const Array cell = lax::convert_element_type(
      shifted_right(lax::shift_left(high, constant_like(high, 1)), 64 - bits), int32);
  const Array entry = looked_up(level.table, cell);
  const Array alias = lax::bitwise_and(entry, constant_like(entry, (uint64_t{1} << bits) - 1));
  const Array threshold = entry - alias;
  // The second word matters only if the first ones are equal. All other elements read the same
  // word, which is in the cache.
  const Array equal = position == threshold;
  const Array second = looked_up(
      level.table, lax::select(equal, cell, lax::full_like(cell, 0)) + (int64_t{1} << bits));
  const Array below = lax::select(equal, turned < second, position < threshold);
  const Array magnitude = lax::select(below, cell, lax::convert_element_type(alias, int32));
  const Array positive = high < constant_like(high, uint64_t{1} << 63);
  return lax::select(positive, magnitude, lax::neg(magnitude)) * full(level.scale);
}

}  // namespace

// A loop over the levels: each is one kernel. All of them in one kernel would need more registers
// than there are.
Array internal::discrete_draws(RandomSource source, const random::Key& key, double stddev,
                               const Shape& shape) {
  const std::vector<internal::Level> levels = internal::levels(stddev);
  const auto count = static_cast<int64_t>(levels.size());
  int bits = 0;
  for (const internal::Level& level : levels)
    bits = std::max(bits, internal::index_bits(level.stddev));
  const Array keys = random::split(key, count + 1).data;
  const auto words_of = [&](const Array& own) {
    return join_words(internal::random_words(kDiscreteGaussianOp, source, random::Key{own}, shape));
  };
  const Array low = words_of(lax::reshape(lax::slice(keys, {count, 0}, {count + 1, 2}), {2}));
  const LevelData data = stacked_levels(levels, lax::slice(keys, {0, 0}, {count, 2}), bits);
  return scan(
             [&](const Array& sum, const LevelData& level) {
               const Array draw = drawn_level(level, bits, words_of(level.key), low);
               return std::pair(sum + draw, std::tuple<>());
             },
             lax::full(shape, 0, int32), data)
      .first;
}

namespace {

void expect_parameter(std::string_view what, double stddev) {
  if (!(stddev >= 1 && stddev <= 0x1p24))
    value_error(kDiscreteGaussianOp, "expected {} in [1, 2^24], got {}", what, stddev);
}

// Returns the integer nearest to a float64, at most 2^30 from 0; 0 for NaN.
Array rounded(const Array& x) {
  const Array number = lax::select(lax::eq(x, x), x, lax::full_like(x, 0));
  const Array inside =
      lax::clamp(lax::full({}, -0x1p30, float64), number, lax::full({}, 0x1p30, float64));
  return lax::convert_element_type(lax::round_nearest_even(inside), int32);
}

// Throws UserError unless leaves are real numbers or whole steps.
void expect_leaves(const std::vector<Array>& leaves) {
  for (const Array& leaf : leaves)
    if (!is_floating(leaf.dtype()) && leaf.dtype() != int32)
      type_error(
          kDiscreteGaussianOp,
          "expected real floating-point leaves, or int32 ones of whole steps, got {}; convert "
          "them with astype",
          describe(leaf.type()));
}

DType result_dtype(OptionalDType wanted, DType leaf) {
  if (wanted) return *wanted;
  return leaf == int32 ? float32 : streaming::wide_dtype(kDiscreteGaussianOp, leaf);
}

// The static parameters of noise on a grid.
struct GridParams {
  double steps_per_stddev;
  OptionalDType dtype;
  RandomSource source;
};

// `granularity` is a float64 scalar.
Array noised(const GridParams& noise, const Array& gradient, const Array& granularity,
             const random::Key& key) {
  const DType result = result_dtype(noise.dtype, gradient.dtype());
  const Array step = broadcast_array(kDiscreteGaussianOp, granularity, gradient.shape());
  const Array z =
      internal::discrete_draws(noise.source, key, noise.steps_per_stddev, gradient.shape());
  if (gradient.dtype() == int32)
    return lax::convert_element_type(lax::convert_element_type(gradient + z, float64) * step,
                                     result);
  const Array x = lax::convert_element_type(gradient, float64);
  const Array grid = rounded(x / step) + z;
  const Array noisy = lax::convert_element_type(grid, float64) * step;
  return lax::convert_element_type(lax::select(lax::eq(x, x), noisy, x), result);
}

}  // namespace

Array discrete_gaussian(const random::Key& key, double stddev, const Shape& shape) {
  expect_parameter("a parameter", stddev);
  random::internal::check_shape(kDiscreteGaussianOp, shape);
  struct DrawParams {
    double stddev;
    Shape shape;
  };
  return composite("privacy_discrete_gaussian", DrawParams{stddev, shape}, {key.data},
                   [](const DrawParams& p, std::span<const Array> a) {
                     return internal::discrete_draws(RandomSource::kKey, {a[0]}, p.stddev, p.shape);
                   });
}

namespace internal {

DiscreteNoise checked_noise(const DiscreteGaussianOptions& options) {
  expect_parameter("steps_per_stddev", options.steps_per_stddev);
  if (options.stddev.number() == 0.0)
    value_error(kDiscreteGaussianOp,
                "expected a standard deviation above 0, got 0: a grid needs a granularity");
  return {options.stddev, checked_key(kDiscreteGaussianOp, options.key, options.random_source),
          options.steps_per_stddev, checked_dtype(kDiscreteGaussianOp, options.dtype),
          options.random_source};
}

std::pair<std::vector<Array>, random::Key> add_discrete_noise(const DiscreteNoise& noise,
                                                              const std::vector<Array>& gradients,
                                                              const random::Key& key) {
  const SharedNoise shared(kDiscreteGaussianOp, noise.source);
  expect_leaves(gradients);
  std::vector<Array> args = gradients;
  args.push_back(key.data);
  args.push_back(noise.stddev.to_dtype(float64));
  std::vector<Array> out = composite(
      "privacy_add_discrete_noise", GridParams{noise.steps_per_stddev, noise.dtype, noise.source},
      std::span<const Array>(args), [](const GridParams& p, std::span<const Array> a) {
        const size_t n = a.size() - 2;
        const std::vector<Array> leaves(a.begin(), a.end() - 2);
        const StepKeys keys = step_keys(kDiscreteGaussianOp, {a[n]}, leaves);
        const Array granularity = a[n + 1] / p.steps_per_stddev;
        std::vector<Array> results;
        for (size_t i = 0; i < n; ++i)
          results.push_back(noised(p, leaves[i], granularity, keys.leaves[i]));
        results.push_back(keys.next.data);
        return results;
      });
  const random::Key next{out.back()};
  out.pop_back();
  return {std::move(out), next};
}

}  // namespace internal

optim::Transformation<internal::DiscretePrivatizer> discrete_gaussian_privatizer(
    const DiscreteGaussianOptions& options) {
  return {{internal::checked_noise(options)}};
}

double accounted_stddev(double steps) {
  if (!(steps >= 0) || std::isinf(steps))
    value_error(kDiscreteGaussianOp, "expected a finite number of steps of at least 0, got {}",
                steps);
  return steps > 2 ? std::sqrt((steps - 2) * (steps + 2)) : 0;
}

double rounded_sensitivity(double l2_sensitivity, double granularity, int64_t dimension) {
  for (const double x : {l2_sensitivity, granularity})
    if (!(x >= 0) || std::isinf(x))
      value_error(kDiscreteGaussianOp,
                  "expected a finite sensitivity and granularity of at least 0, got {}", x);
  if (dimension < 0)
    value_error(kDiscreteGaussianOp, "expected a dimension of at least 0, got {}", dimension);
  // gradient / granularity is rounded in float64 first: for 2^30 steps by 2^-23 of a step.
  const double moved = granularity * (1 + 0x1p-22) * std::sqrt(static_cast<double>(dimension));
  return (l2_sensitivity + moved) * (1 + 4 * std::numeric_limits<double>::epsilon());
}

}  // namespace tessera::privacy
