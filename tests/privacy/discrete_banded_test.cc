#include "tessera/privacy/noise/discrete_banded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/privacy/trainer.h"
#include "tessera/tessera.h"
#include "tests/errors.h"

namespace tessera::privacy::discrete_banded_test {
namespace {

namespace mf = matrix_factorization;
using internal::lattice_coefs;
using internal::on_lattice;
using mf::toeplitz::Coefs;
using tessera::test::expect_error;
using ::testing::ElementsAre;

Plan plan_of(const Coefs& strategy, int64_t grid_scale = 1024) {
  return make_plan({.num_examples = 1000,
                    .steps = 12,
                    .expected_batch_size = 50,
                    .noise_multiplier = 1.5,
                    .delta = 1e-5,
                    .mechanism = DiscreteGaussian{.grid_scale = grid_scale},
                    .strategy = BandedNoise{.strategy = strategy},
                    .l2_clip_norm = 2});
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

using Row = std::vector<int64_t>;

// Returns the lattice noise z of a privatizer's next update of one leaf, computed from the key.
Row lattice_noise(const random::Key& key, double grid_steps, int64_t elements) {
  const random::Key leaf = random::split(random::split<2>(key)[1], 1)[0];
  const auto [coarse, fine] = random::split<2>(leaf);
  const auto draws = [&](const random::Key& k, double stddev) {
    return to_vector<int32_t>(discrete_gaussian(k, stddev, {elements}));
  };
  const std::vector<int32_t> w = draws(coarse, std::sqrt(grid_steps * grid_steps - 2.2 * 2.2)),
                             f = draws(fine, 2.2 * 256);
  Row out;
  for (size_t i = 0; i < w.size(); ++i) out.push_back(int64_t{256} * w[i] + f[i]);
  return out;
}

TEST(DiscreteBanded, CoefficientsAreWholeNumbersOfThe256thOfTheFirst) {
  EXPECT_THAT(lattice_coefs("op", {1, .5, .3, -.1, .001}), ElementsAre(256, 128, 77, -26, 0));
  EXPECT_THAT(lattice_coefs("op", {-2, 1}), ElementsAre(256, -128));
  EXPECT_THAT(on_lattice("op", {-2, 1, .1}), ElementsAre(2, -1, -13. / 128));
  expect_error(
      [] {
        lattice_coefs("op", {1, 0x1p15});
      },
      "[op] expected coefficients of at most 2^14 times the first one");
}

// Releases are private because they are functions of y = M g + z alone. Each release is compared
// with this function, computed here in int64 from sums and draws.
TEST(DiscreteBanded, WhatIsReleasedIsAFunctionOfTheNoisyLatticeSums) {
  for (const Coefs& strategy : {Coefs{1, .5, .3}, Coefs{2, -.7, .25, .1}, Coefs{.8}}) {
    const Plan plan = plan_of(strategy);
    const auto privatizer = plan.privatizer(random::key(3));
    const double steps = *privatizer.rule.noise.steps_per_stddev,
                 granularity = plan.stddev() / steps;
    EXPECT_NEAR(granularity, 2. / 50 / 1024, 1e-17);
    const std::vector<int64_t> m = lattice_coefs("op", strategy);
    constexpr int64_t kElements = 300;
    auto state = privatizer.init(zeros({kElements}));
    std::vector<Row> sums, released;
    for (int t = 0; t < 8; ++t) {
      const Array sum = random::randint(random::key(100 + t), {kElements}, -40'000, 40'000);
      const Row z = lattice_noise(state.key, steps / std::abs(strategy[0]), kElements);
      sums.emplace_back();
      for (const int32_t g : to_vector<int32_t>(sum)) sums.back().push_back(g);
      Array noisy;
      std::tie(noisy, state) = privatizer.update(sum, state);
      EXPECT_EQ(noisy.dtype(), float32);
      const std::vector<float> got = to_vector<float>(noisy);
      released.emplace_back();
      for (size_t i = 0; i < z.size(); ++i) {
        int64_t y = z[i], rest = 0;
        for (size_t j = 0; j < m.size() && j <= static_cast<size_t>(t); ++j) {
          const size_t past = static_cast<size_t>(t) - j;
          y += m[j] * sums[past][i];
          if (j > 0) rest += m[j] * released[past][i];
        }
        released.back().push_back(floor_div(y - rest + 128, 256));
        // Below 2^23 steps, float32 distinguishes consecutive numbers of steps.
        ASSERT_LT(std::abs(released.back()[i]), 1 << 23);
        ASSERT_EQ(std::llround(got[i] / granularity), released.back()[i])
            << "step " << t << " element " << i;
      }
    }
    for (const auto& buffer : state.matrix.buffers) EXPECT_EQ(buffer.dtype(), int32);
    EXPECT_EQ(state.matrix.buffers.size(), strategy.size() > 1 ? 1u : 0u);
  }
}

// The noise of steps i and j has the covariance of C^-1 Z, as float noise has.
TEST(DiscreteBanded, IsCorrelatedAsTheStrategySays) {
  const Coefs strategy{1, .5, .375};
  const Plan plan = plan_of(strategy);
  const auto privatizer = plan.privatizer(random::key(5));
  constexpr int64_t kElements = 200'000;
  const Array nothing = zeros({kElements}, int32);
  auto state = privatizer.init(nothing);
  constexpr int kSteps = 5;
  std::vector<std::vector<float>> noise;
  for (int t = 0; t < kSteps; ++t) {
    Array noisy;
    std::tie(noisy, state) = privatizer.update(nothing, state);
    noise.push_back(to_vector<float>(noisy));
  }
  const Coefs inverse = mf::toeplitz::inverse_coef(strategy, kSteps);
  const double variance = plan.stddev() * plan.stddev();
  for (int i = 0; i < kSteps; ++i)
    for (int j = 0; j <= i; ++j) {
      double expected = 0, got = 0;
      for (int k = 0; k <= j; ++k)
        expected += inverse[static_cast<size_t>(i - k)] * inverse[static_cast<size_t>(j - k)];
      for (size_t e = 0; e < noise[0].size(); ++e)
        got += noise[static_cast<size_t>(i)][e] * noise[static_cast<size_t>(j)][e];
      EXPECT_NEAR(got / kElements / variance, expected, .015) << i << " " << j;
    }
}

TEST(DiscreteBanded, RefusesStrategiesThatOutgrowTheNumbers) {
  internal::expect_bounded_noise("op", {1, .5}, 1000, 1 << 24);
  // The inverse of {1, 2} doubles at each step.
  internal::expect_bounded_noise("op", {1, 2}, 4, 1024);
  expect_error(
      [] {
        internal::expect_bounded_noise("op", {1, 2}, 40, 1024);
      },
      "[op] expected a strategy with which noise of 1.02e+03 steps of the grid stays below "
      "2^30 steps, got one whose inverse makes it up to");
  expect_error([] { internal::expect_bounded_noise("op", {1, 2}, 5000, 1024); }, "up to inf");
  expect_error([] { plan_of({1, 30, .1}); }, "take a smaller grid_scale");
  expect_error([] { plan_of({1, 1e9}); }, "expected coefficients of at most 2^14 times");
}

TEST(DiscreteBanded, RefusesOtherSumsAndStates) {
  const auto privatizer = plan_of({1, .5}).privatizer(random::key(0));
  const Array sum = zeros({4}, int32);
  const auto state = privatizer.init(sum);
  expect_error([&] { privatizer.update(zeros({4}), state); },
               "[privacy::privatizer] expected int32 sums of whole steps of a grid for "
               "DiscreteGaussian noise, got float32[4]; clip by the plan's clip_options()");
  auto real = state;
  real.matrix.buffers[0] = zeros({1, 4});
  expect_error([&] { privatizer.update(sum, real); }, "expected a state of whole numbers (int32)");
  expect_error([&] { privatizer.update(zeros({5}, int32), state); }, "expected a buffer of shape");
}

TEST(DiscreteBanded, IsTheSameInProgramsAndOnDevices) {
  const auto privatizer = plan_of({1, .5, .3}).privatizer(random::key(7));
  const Array sum = random::randint(random::key(1), {16, 8}, -1000, 1000);
  const auto step =
      jit([&](const Array& g, const NoiseState<Array>& s) { return privatizer.update(g, s); });
  const auto [first, after] = privatizer.update(sum, privatizer.init(sum));
  const auto [second, last] = privatizer.update(sum, after);
  EXPECT_EQ(step(sum, step(sum, privatizer.init(sum)).second).first.to_host(), second.to_host());
  initialize({.devices = "cpu:8"});
  const Mesh mesh{create_device_mesh({2, 4}), {"x", "y"}};
  const Array cut =
      device_put(from_host(to_vector<int32_t>(sum), {16, 8}), NamedSharding(mesh, P("x", "y")));
  // The only collective finds whether draws need their second words.
  for (const auto& collective : step.lower(cut, privatizer.init(cut)).collectives()) {
    EXPECT_EQ(collective.name, "all_reduce");
    EXPECT_LE(collective.bytes_per_device, 16);
  }
  EXPECT_EQ(step(cut, step(cut, privatizer.init(cut)).second).first.to_host(), second.to_host());
  initialize({.devices = "cpu:1"});
}

}  // namespace
}  // namespace tessera::privacy::discrete_banded_test
