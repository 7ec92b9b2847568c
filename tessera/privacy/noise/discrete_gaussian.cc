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
#include "tessera/privacy/noise/discrete_gaussian_table.h"
#include "tessera/privacy/noise/leaf_keys.h"
#include "tessera/random/sampling.h"
#include "tessera/random/threefry.h"

namespace tessera::privacy {

using namespace ops::array_math;

namespace streaming = matrix_factorization::internal;
using random::internal::constant_like;
using random::internal::Words;

namespace {

constexpr const char* kOp = "privacy::discrete_gaussian";

Array shifted_right(const Array& x, uint64_t bits) {
  return lax::shift_right_logical(x, constant_like(x, bits));
}
Array joined(const Words& words) {
  const Array high = lax::convert_element_type(words.high, uint64);
  return lax::bitwise_or(lax::shift_left(high, constant_like(high, 32)),
                         lax::convert_element_type(words.low, uint64));
}
// table[index], element by element.
Array looked_up(const Array& table, const Array& index) {
  return lax::gather(table, lax::expand_dims(index, {index.ndim()}),
                     {.offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}}, {1},
                     IndexMode::kPromiseInBounds);
}

// One level of a draw: its table, scale, and two keys.
struct LevelData {
  Array high, low;  // uint64, of a power of two
  Array scale;      // int32
  Array keys;       // uint32 [2, 2]
};

Words key_of(const Array& keys, int64_t i) {
  return random::internal::key_words(kOp, random::Key{keys}[i]);
}

// The greatest k with U < P(|X| >= k), found from its highest bit down; with a sign, times the scale.
Array drawn_level(const LevelData& level, const Shape& shape) {
  const Words words = random::internal::hash_of_index(key_of(level.keys, 1), shape);
  const Array high = joined(random::internal::hash_of_index(key_of(level.keys, 0), shape)),
              low = shifted_right(joined(words), 1);
  Array found = lax::full(shape, 0, int32);
  for (int64_t bit = level.high.size() / 2; bit > 0; bit /= 2) {
    const Array next = found + bit;
    const Array next_high = looked_up(level.high, next), next_low = looked_up(level.low, next);
    const Array below =
        lax::bitwise_or(high < next_high, lax::bitwise_and(high == next_high, low < next_low));
    found = lax::select(below, next, found);
  }
  const Array sign = lax::bitwise_and(words.low, constant_like(words.low, 1));
  return lax::select(sign == 0, found, -found) * broadcast_array(kOp, level.scale, shape);
}

// All levels, stacked; their tables of one size.
LevelData stacked_levels(const random::Key& key, double stddev) {
  std::vector<uint64_t> high, low;
  std::vector<int32_t> scales;
  size_t size = 0;
  std::vector<internal::TailTable> tables;
  for (const internal::Level& level : internal::levels(stddev)) {
    tables.push_back(internal::tail_table(level.stddev));
    size = std::max(size, tables.back().high.size());
    scales.push_back(static_cast<int32_t>(level.scale));
  }
  for (internal::TailTable& table : tables) {
    table.high.resize(size);
    table.low.resize(size);
    high.insert(high.end(), table.high.begin(), table.high.end());
    low.insert(low.end(), table.low.begin(), table.low.end());
  }
  const int64_t count = static_cast<int64_t>(scales.size());
  const Shape shape{count, static_cast<int64_t>(size)};
  return {lax::constant(Literal::from<uint64_t>(high, shape)),
          lax::constant(Literal::from<uint64_t>(low, shape)),
          lax::constant(Literal::from<int32_t>(scales, {count})),
          random::split(key, Shape{count, 2}).data};
}

// A loop over the levels: each is one kernel, and all of them in one would keep more than there are
// registers for.
Array drawn(const random::Key& key, double stddev, const Shape& shape) {
  return scan(
             [&](const Array& sum, const LevelData& level) {
               return std::pair(sum + drawn_level(level, shape), std::tuple<>());
             },
             lax::full(shape, 0, int32), stacked_levels(key, stddev))
      .first;
}

void expect_parameter(std::string_view what, double stddev) {
  if (!(stddev >= 1 && stddev <= 0x1p24))
    value_error(kOp, "expected {} in [1, 2^24], got {}", what, stddev);
}

// A float64 as the integer next to it, at most 2^30 from 0; 0 for NaN.
Array rounded(const Array& x) {
  const Array number = lax::select(lax::eq(x, x), x, lax::full_like(x, 0));
  const Array inside =
      lax::clamp(lax::full({}, -0x1p30, float64), number, lax::full({}, 0x1p30, float64));
  return lax::convert_element_type(lax::round_nearest_even(inside), int32);
}

// `granularity`: a float64 scalar.
Array noised(const Array& gradient, const Array& granularity, double steps, const random::Key& key,
             DType result) {
  const Array step = broadcast_array(kOp, granularity, gradient.shape());
  const Array x = lax::convert_element_type(gradient, float64);
  const Array grid = rounded(x / step) + drawn(key, steps, x.shape());
  const Array noisy = lax::convert_element_type(grid, float64) * step;
  return lax::convert_element_type(lax::select(lax::eq(x, x), noisy, x), result);
}

}  // namespace

Array discrete_gaussian(const random::Key& key, double stddev, const Shape& shape) {
  expect_parameter("a parameter", stddev);
  random::internal::check_shape(kOp, shape);
  struct DrawParams {
    double stddev;
    Shape shape;
  };
  return composite("privacy_discrete_gaussian", DrawParams{stddev, shape}, {key.data},
                   [&](std::span<const Array> a) { return drawn({a[0]}, stddev, shape); });
}

namespace internal {

DiscreteNoise checked_noise(const DiscreteGaussianOptions& options) {
  expect_parameter("steps_per_stddev", options.steps_per_stddev);
  if (options.stddev.number() == 0.0)
    value_error(kOp, "expected a standard deviation above 0, got 0: a grid needs a granularity");
  return {options.stddev, checked_key(kOp, options.key), options.steps_per_stddev,
          checked_dtype(kOp, options.dtype)};
}

std::pair<std::vector<Array>, random::Key> add_discrete_noise(const DiscreteNoise& noise,
                                                              const std::vector<Array>& gradients,
                                                              const random::Key& key) {
  expect_real(kOp, gradients);
  struct GridParams {
    double steps;
    bool has_dtype;
    DType dtype;
  };
  std::vector<Array> args = gradients;
  args.push_back(key.data);
  args.push_back(noise.stddev.as(float64));
  const size_t n = gradients.size();
  std::vector<Array> out = composite(
      "privacy_add_discrete_noise",
      GridParams{noise.steps_per_stddev, noise.dtype.has_value(), noise.dtype.value_or(float32)},
      std::span<const Array>(args), [&](std::span<const Array> a) {
        const std::vector<Array> leaves(a.begin(), a.begin() + static_cast<int64_t>(n));
        const StepKeys keys = step_keys(kOp, {a[n]}, leaves);
        const Array granularity = a[n + 1] / noise.steps_per_stddev;
        std::vector<Array> results;
        for (size_t i = 0; i < n; ++i)
          results.push_back(
              noised(leaves[i], granularity, noise.steps_per_stddev, keys.leaves[i],
                     noise.dtype.value_or(streaming::wide_dtype(kOp, leaves[i].dtype()))));
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

double rounded_sensitivity(double l2_sensitivity, double granularity, int64_t dimension) {
  for (const double x : {l2_sensitivity, granularity})
    if (!(x >= 0) || std::isinf(x))
      value_error(kOp, "expected a finite sensitivity and granularity of at least 0, got {}", x);
  if (dimension < 0) value_error(kOp, "expected a dimension of at least 0, got {}", dimension);
  // gradient / granularity is rounded in float64 first: of 2^30 steps by 2^-23 of one.
  const double moved = granularity * (1 + 0x1p-22) * std::sqrt(static_cast<double>(dimension));
  return (l2_sensitivity + moved) * (1 + 4 * std::numeric_limits<double>::epsilon());
}

}  // namespace tessera::privacy
