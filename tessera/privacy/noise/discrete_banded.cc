#include "tessera/privacy/noise/discrete_banded.h"

#include <cmath>
#include <numeric>

#include "tessera/compile/composite.h"
#include "tessera/ir/format.h"
#include "tessera/numpy/index.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/privacy/matrix_factorization/streaming_node.h"
#include "tessera/privacy/noise/discrete_gaussian.h"
#include "tessera/privacy/noise/leaf_keys.h"

namespace tessera::privacy::internal {

using namespace ops::array_math;

namespace mf = matrix_factorization;
using mf::toeplitz::Coefs;

namespace {

constexpr const char* kDiscreteBandedOp = "privacy::privatizer";
constexpr int64_t kUnit = int64_t{1} << kLatticeBits;
// The noise z is drawn as 2^8 w + f, where w and f are discrete Gaussians over the integers. f has
// the parameter 2^8 kFine and comes from one table. The probabilities of the sum are those of z
// within a factor of 1 +- 2^-126 (discrete_gaussian.h has the proof).
constexpr double kFine = 2.2;

// The static parameters of discrete noise of a banded strategy.
struct BandedParams {
  mf::StreamingMatrix matrix;
  mf::internal::StepLayout layout;
  double steps_per_stddev;
  OptionalDType dtype;
  RandomSource source;
};

Coefs coefs_of(const BandedParams& noise) {
  const auto* inverse = std::get_if<mf::internal::ToeplitzInverse>(&noise.matrix.node().matrix);
  TESSERA_CHECK(inverse, "discrete noise is correlated by banded strategies alone");
  return inverse->coef;
}

Array as_float64(const Array& x) { return lax::convert_element_type(x, float64); }

// Returns the sum over j >= 1 of m_j e_{t-j}. It is computed in float64, in which integers are
// exact up to 2^53; expect_bounded_noise() keeps the sum below 2^52. The noise of step t is in slot
// t % size of the ring, so slot s was written j = 1 + (t - 1 - s) mod size steps ago: its
// coefficients are `size` consecutive entries of m_size, ..., m_1, m_size, ..., m_1.
Array echo(const Array& ring, const std::vector<int64_t>& m, const Array& slot) {
  const int64_t size = ring.shape(0);
  std::vector<double> turned;
  for (int64_t i = 0; i < 2 * size; ++i)
    turned.push_back(static_cast<double>(m[static_cast<size_t>(size - i % size)]));
  const Array back = lax::sub(lax::full_like(slot, static_cast<double>(size)), slot);
  const Array start = lax::rem(back, lax::full_like(back, static_cast<double>(size)));
  const Array weights = lax::dynamic_slice_in_dim(
      lax::constant(Literal::from<double>(turned, {2 * size})), start, size, 0);
  return lax::reduce_sum(as_float64(ring) * lax::broadcast_in_dim(weights, ring.shape(), {0}), {0});
}

struct NoisyLeaf {
  Array values;
  std::optional<Array> ring;
};

// Returns the step of one leaf: the sum with its noise, and the ring with the e of this step.
NoisyLeaf noised(const BandedParams& noise, const std::vector<int64_t>& m, const Array& sum,
                 const std::optional<Array>& ring, const Array& slot, const Array& granularity,
                 const random::Key& key) {
  const double grid_steps = noise.steps_per_stddev / coefs_of(noise)[0];
  const auto [coarse, fine] = random::split<2>(key);
  const Shape& shape = sum.shape();
  const Array w = discrete_draws(noise.source, coarse,
                                 std::sqrt((grid_steps - kFine) * (grid_steps + kFine)), shape);
  const Array f = discrete_draws(noise.source, fine, kFine * static_cast<double>(kUnit), shape);
  Array rest = as_float64(f);
  if (ring) rest = rest - echo(*ring, m, slot);
  const Array whole = lax::floor(rest * (1.0 / static_cast<double>(kUnit)) + 0.5);
  const Array e = w + lax::convert_element_type(whole, int32);
  const Array released =
      as_float64(sum + e) * broadcast_array(kDiscreteBandedOp, granularity, shape);
  NoisyLeaf out{lax::convert_element_type(released, noise.dtype.value_or(float32)), ring};
  if (ring) out.ring = dynamic_update_index_in_dim(*ring, e, slot, 0);
  return out;
}

mf::internal::FlatStep next_step(const BandedParams& noise, const mf::internal::FlatStep& given,
                                 const std::vector<random::Key>& keys, const Array& stddev) {
  const std::vector<int64_t> m = lattice_coefs(kDiscreteBandedOp, coefs_of(noise));
  const Array granularity = stddev / noise.steps_per_stddev;
  const auto size = static_cast<double>(std::max<size_t>(m.size() - 1, 1));
  const Array slot = lax::rem(given.step, lax::full_like(given.step, size));
  mf::internal::FlatStep out = given;
  for (size_t i = 0; i < given.values.size(); ++i) {
    std::optional<Array> ring;
    if (!given.buffers.empty()) ring = given.buffers[0][i];
    NoisyLeaf leaf = noised(noise, m, given.values[i], ring, slot, granularity, keys[i]);
    out.values[i] = std::move(leaf.values);
    if (leaf.ring) out.buffers[0][i] = std::move(*leaf.ring);
  }
  return mf::internal::ended(noise.matrix, std::move(out));
}

// Throws UserError unless leaves and buffers are int32, whole steps of the grid.
void expect_whole(const mf::internal::FlatStep& given) {
  for (const std::vector<Array>& buffer : given.buffers)
    for (const Array& ring : buffer)
      if (ring.dtype() != int32)
        type_error(kDiscreteBandedOp,
                   "expected a state of whole numbers (int32) for DiscreteGaussian noise, got {}; "
                   "make it with init of this privatizer",
                   describe(ring.type()));
}

}  // namespace

std::vector<int64_t> lattice_coefs(std::string_view op, const Coefs& coefs) {
  std::vector<int64_t> out;
  for (const double c : coefs) {
    const double units = std::round(c / coefs[0] * static_cast<double>(kUnit));
    if (!(std::abs(units) <= 0x1p22))
      value_error(op,
                  "expected coefficients of at most 2^14 times the first one in a strategy with "
                  "DiscreteGaussian noise, got {} and {}; take a smaller one",
                  c, coefs[0]);
    out.push_back(std::llround(units));
  }
  return out;
}

Coefs on_lattice(std::string_view op, const Coefs& coefs) {
  Coefs out;
  for (const int64_t units : lattice_coefs(op, coefs))
    out.push_back(std::abs(coefs[0]) * (static_cast<double>(units) / static_cast<double>(kUnit)));
  return out;
}

double noise_growth(const Coefs& coefs, int64_t run_steps) {
  double growth = 0;
  for (const double c : mf::toeplitz::inverse_coef(coefs, run_steps)) growth += std::abs(c);
  return growth * std::abs(coefs[0]);
}

void expect_bounded_noise(std::string_view op, const Coefs& coefs, int64_t run_steps,
                          double grid_steps) {
  const std::vector<int64_t> m = lattice_coefs(op, coefs);
  double in_sum = 0;
  for (const int64_t units : m) in_sum += std::abs(static_cast<double>(units));
  // The noise e is the inverse of C (scaled to a diagonal of ones) times z / 2^8 plus the
  // roundings, which are at most 1/2. Tables end at 13.4 standard deviations, and sums of levels
  // reach at most 7 % more.
  const double drawn = 15 * (grid_steps + kFine + 1);
  const double growth = noise_growth(coefs, run_steps);
  // The sum in `echo` then stays below 2^52.
  if (growth * drawn <= 0x1p30 && in_sum <= 0x1p22) return;
  value_error(op,
              "expected a strategy with which noise of {:.3g} steps of the grid stays below 2^30 "
              "steps, got one whose inverse makes it up to {:.3g}; take a smaller grid_scale, a "
              "strategy of smaller coefficients, or the mechanism Gaussian",
              grid_steps, growth * drawn);
}

FlatUpdate add_banded_discrete_noise(const Noise& noise, const mf::internal::FlatStep& given,
                                     const random::Key& key) {
  mf::internal::expect_buffers(kDiscreteBandedOp, noise.noising_matrix, given);
  expect_whole(given);
  std::vector<Array> args = given.arrays();
  args.push_back(key.data);
  args.push_back(noise.stddev.to_dtype(float64));
  const BandedParams params{noise.noising_matrix, mf::internal::layout_of(given),
                            *noise.steps_per_stddev, noise.dtype, noise.source};
  std::vector<Array> out =
      composite("privacy_add_banded_discrete_noise", params, std::span<const Array>(args),
                [](const BandedParams& p, std::span<const Array> a) {
                  const size_t n = a.size() - 2;
                  const mf::internal::FlatStep step = mf::internal::step_of(p.layout, a.first(n));
                  const StepKeys keys = step_keys(kDiscreteBandedOp, {a[n]}, step.values);
                  std::vector<Array> results = next_step(p, step, keys.leaves, a[n + 1]).arrays();
                  results.push_back(keys.next.data);
                  return results;
                });
  const random::Key next{out.back()};
  return {given.like(out), next};
}

}  // namespace tessera::privacy::internal
