#include "tessera/privacy/noise/discrete_gaussian.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/compile/composite.h"
#include "tessera/compile/control_flow.h"
#include "tessera/ir/format.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/expect.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/reductions/reduce.h"
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

// The data from which a level draws: its table and scale, and the keys of the two words of a draw.
struct LevelData {
  Array table;  // uint64 [cells * 2]
  Array scale;  // int32
  Array high;   // uint32 [2]
  Array low;    // uint32 [2]
};

// Stands for a sum of draws if one of these needs its second word.
constexpr int32_t kUndecided = std::numeric_limits<int32_t>::min();

class Sampler {
 public:
  Sampler(RandomSource source, double stddev, uint64_t ignored_bits)
      : source_(source), levels_(internal::levels(stddev)), ignored_(ignored_bits) {
    for (const internal::Level& level : levels_)
      bits_ = std::max(bits_, internal::index_bits(level.stddev));
  }

  // Returns the draws of an array, made from first words alone; kUndecided if these do not decide a
  // draw.
  Array first_look(const random::Key& key, const Shape& shape) const {
    return sum_over_levels(key, shape, [&](const Array& sum, const LevelData& level) {
      const Place at = place(level, words(level.high, shape));
      const Array undecided = lax::bitwise_or(
          lax::eq(shifted_right(at.position, ignored_), shifted_right(at.threshold, ignored_)),
          lax::eq(sum, lax::full_like(sum, kUndecided)));
      return lax::select(undecided, lax::full_like(sum, kUndecided),
                         sum + draw(level, at, lax::lt(at.position, at.threshold)));
    });
  }

  Array draws(const random::Key& key, const Shape& shape) const {
    return sum_over_levels(key, shape, [&](const Array& sum, const LevelData& level) {
      const Place at = place(level, words(level.high, shape));
      // The second word of a threshold matters only if the first words are equal. All other
      // elements look up entry 0 instead, which is in the cache.
      const Array equal = lax::eq(at.position, at.threshold);
      const Array second =
          looked_up(level.table, lax::select(equal, at.cell, lax::full_like(at.cell, 0)) +
                                     (int64_t{1} << bits_));
      const Array below = lax::select(equal, lax::lt(words(level.low, shape), second),
                                      lax::lt(at.position, at.threshold));
      return sum + draw(level, at, below);
    });
  }

 private:
  // The parts of the first word, and the table's entry that it selects. The first bit is the sign,
  // the bits after it are the cell, and the others are compared with the first bits of the cell's
  // threshold.
  struct Place {
    Array positive, cell, position, threshold, alias;
  };
  Place place(const LevelData& level, const Array& high) const {
    const auto bits = static_cast<uint64_t>(bits_);
    Place out;
    out.positive = lax::lt(high, constant_like(high, uint64_t{1} << 63));
    out.cell = lax::convert_element_type(
        shifted_right(lax::shift_left(high, constant_like(high, 1)), 64 - bits), int32);
    out.position = lax::shift_left(high, constant_like(high, bits + 1));
    const Array entry = looked_up(level.table, out.cell);
    const Array alias = lax::bitwise_and(entry, constant_like(entry, (uint64_t{1} << bits) - 1));
    out.threshold = entry - alias;
    out.alias = lax::convert_element_type(alias, int32);
    return out;
  }
  static Array draw(const LevelData& level, const Place& at, const Array& below) {
    const Array magnitude = lax::select(below, at.cell, at.alias);
    return lax::select(at.positive, magnitude, lax::neg(magnitude)) *
           broadcast_array(kDiscreteGaussianOp, level.scale, magnitude.shape());
  }

  // Returns the sum over the levels, computed by a loop. One kernel for all levels would need more
  // registers than there are.
  template <class Add>
  Array sum_over_levels(const random::Key& key, const Shape& shape, const Add& add) const {
    return scan([&](const Array& sum,
                    const LevelData& level) { return std::pair(add(sum, level), std::tuple<>()); },
                lax::full(shape, 0, int32), stacked(key))
        .first;
  }

  // Returns the data of all levels, stacked. All tables have the same size.
  LevelData stacked(const random::Key& key) const {
    std::vector<uint64_t> tables;
    std::vector<int32_t> scales;
    for (const internal::Level& level : levels_) {
      const internal::AliasTable table = internal::alias_table(level.stddev, bits_);
      tables.insert(tables.end(), table.words.begin(), table.words.end());
      scales.push_back(static_cast<int32_t>(level.scale));
    }
    const auto count = static_cast<int64_t>(levels_.size());
    const Array keys = random::split(key, 2 * count).data;
    return {lax::constant(Literal::from<uint64_t>(tables, {count, int64_t{2} << bits_})),
            lax::constant(Literal::from<int32_t>(scales, {count})),
            lax::slice(keys, {0, 0}, {count, 2}), lax::slice(keys, {count, 0}, {2 * count, 2})};
  }

  Array words(const Array& key, const Shape& shape) const {
    return join_words(
        internal::random_words(kDiscreteGaussianOp, source_, random::Key{key}, shape));
  }

  RandomSource source_;
  std::vector<internal::Level> levels_;
  uint64_t ignored_;
  int bits_ = 0;
};

}  // namespace

// About one draw in 2^49 needs its second word, which costs as much as the first. So draws are
// first made without it; if one needs it, all are made again with it. With RandomSource::kSystem,
// whose words are not made twice, draws are made with both words at once.
std::vector<Array> internal::discrete_draws(RandomSource source,
                                            const std::vector<random::Key>& keys, double stddev,
                                            const std::vector<Shape>& shapes,
                                            uint64_t ignored_bits) {
  const Sampler sampler(source, stddev, ignored_bits);
  const auto all = [&](const auto& draw) {
    std::vector<Array> out;
    for (size_t i = 0; i < keys.size(); ++i) out.push_back(draw(keys[i], shapes[i]));
    return out;
  };
  if (source == RandomSource::kSystem)
    return all([&](const auto& key, const auto& shape) { return sampler.draws(key, shape); });
  std::vector<Array> first =
      all([&](const auto& key, const auto& shape) { return sampler.first_look(key, shape); });
  std::optional<Array> least;
  for (const Array& draws : first) {
    if (draws.size() == 0) continue;
    const Array here = lax::reduce_min(draws, iota_dims(draws.ndim()));
    least = least ? lax::min(*least, here) : here;
  }
  if (!least) return first;
  const Array again = bind_op1(ops::expect_op, ops::ExpectParams{0},
                               {lax::eq(*least, lax::full_like(*least, kUndecided))});
  std::vector<Array> data;
  for (const random::Key& key : keys) data.push_back(key.data);
  return cond(
      again,
      [&](const std::vector<Array>&, const std::vector<Array>& with) {
        std::vector<Array> out;
        for (size_t i = 0; i < with.size(); ++i)
          out.push_back(sampler.draws(random::Key{with[i]}, shapes[i]));
        return out;
      },
      [](const std::vector<Array>& draws, const std::vector<Array>&) { return draws; }, first,
      data);
}

Array internal::discrete_draws(RandomSource source, const random::Key& key, double stddev,
                               const Shape& shape) {
  return discrete_draws(source, std::vector{key}, stddev, std::vector{shape})[0];
}

namespace {

void expect_parameter(std::string_view what, double stddev) {
  if (!(stddev >= 1 && stddev <= 0x1p24))
    value_error(kDiscreteGaussianOp, "expected {} in [1, 2^24], got {}", what, stddev);
}

// Returns the integer nearest to each float64, limited to [-2^30, 2^30]; 0 for NaN.
Array rounded(const Array& x) {
  const Array number = lax::select(lax::eq(x, x), x, lax::full_like(x, 0));
  const Array inside =
      lax::clamp(lax::full({}, -0x1p30, float64), number, lax::full({}, 0x1p30, float64));
  return lax::convert_element_type(lax::round_nearest_even(inside), int32);
}

// Throws UserError unless leaves are real floating-point numbers or whole steps (int32).
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
             const Array& z) {
  const DType result = result_dtype(noise.dtype, gradient.dtype());
  const Array step = broadcast_array(kDiscreteGaussianOp, granularity, gradient.shape());
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
        std::vector<Shape> shapes;
        for (const Array& leaf : leaves) shapes.push_back(leaf.shape());
        const std::vector<Array> draws =
            discrete_draws(p.source, keys.leaves, p.steps_per_stddev, shapes);
        std::vector<Array> results;
        for (size_t i = 0; i < n; ++i)
          results.push_back(noised(p, leaves[i], granularity, draws[i]));
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
  // The quotient gradient / granularity is rounded in float64 first: at 2^30 steps, by 2^-23 of a
  // step.
  const double moved = granularity * (1 + 0x1p-22) * std::sqrt(static_cast<double>(dimension));
  return (l2_sensitivity + moved) * (1 + 4 * std::numeric_limits<double>::epsilon());
}

}  // namespace tessera::privacy
