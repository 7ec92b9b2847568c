// Plans with the discrete Gaussian mechanism and strategies, schedules or parts
// (plan_mechanism.cc).
#include <gtest/gtest.h>

#include <cmath>

#include "../errors.h"
#include "tessera/numpy/creation.h"
#include "tessera/privacy/noise/discrete_banded.h"
#include "tessera/privacy/plan.h"
#include "tessera/privacy/plan_rmse.h"

namespace tessera::privacy::plan_discrete_noise_test {
namespace {

namespace mf = matrix_factorization;
using mf::toeplitz::Coefs;
using tessera::test::expect_error;

PlanOptions banded(const Coefs& strategy, const Mechanism& mechanism) {
  return {.num_examples = 600,
          .steps = 60,
          .expected_batch_size = 50,
          .noise_multiplier = .8,
          .delta = 1e-5,
          .mechanism = mechanism,
          .strategy = BandedNoise{.strategy = strategy}};
}

// The plan accounts for the Gaussian mechanism with the rounded strategy, with variance s^2 - 4 on
// the lattice, which is 2^8 times as fine as the grid.
TEST(PlanDiscreteNoise, BandedDiscreteNoiseCountsTheRoundedStrategy) {
  const Coefs strategy{.9, .437, .3};
  for (const bool amplified : {true, false}) {
    PlanOptions options = banded(strategy, DiscreteGaussian{.grid_scale = 16});
    options.amplified = amplified;
    const Plan plan = make_plan(options);
    const Coefs rounded = internal::on_lattice("op", strategy);
    EXPECT_EQ(rounded[1], .9 * 124 / 256);
    options.mechanism = Gaussian{};
    options.strategy = BandedNoise{.strategy = rounded};
    const double of_strategy = make_plan(options).sensitivity() / make_plan(options).clipped_norm();
    EXPECT_DOUBLE_EQ(plan.sensitivity() / plan.clipped_norm(), of_strategy);
    const double steps = .8 * of_strategy * 16 * 256 / .9;
    options.noise_multiplier = .8 * std::sqrt(steps * steps - 4) / steps;
    EXPECT_NEAR(plan.epsilon(), make_plan(options).epsilon(), 1e-12 * plan.epsilon());
    // Rounding to multiples of 1 / 256 hardly changes the error.
    options.mechanism = Gaussian{};
    options.noise_multiplier = .8;
    options.strategy = BandedNoise{.strategy = strategy};
    EXPECT_NE(plan.sensitivity() / plan.clipped_norm(),
              make_plan(options).sensitivity() / make_plan(options).clipped_norm());
    EXPECT_NEAR(rmse(plan), rmse(make_plan(options)), .01 * rmse(plan));
  }
}

// No example that takes part at most once in a cycle moves the lattice sums by more than the plan
// accounts for.
TEST(PlanDiscreteNoise, NoParticipationMovesTheLatticeSumsFurther) {
  PlanOptions options = banded({1, .6, .3, .1}, DiscreteGaussian{.grid_scale = 1024});
  options.steps = 12;
  options.amplified = false;
  const Plan plan = make_plan(options);
  const std::vector<int64_t> m = internal::lattice_coefs("op", {1, .6, .3, .1});
  const double bound = plan.sensitivity() / plan.clipped_norm();
  double most = 0;
  for (int pattern = 0; pattern < 1 << 12; ++pattern) {
    bool allowed = true;
    int last = -100;
    for (int t = 0; t < 12; ++t) {
      if (!(pattern >> t & 1)) continue;
      allowed = allowed && t - last >= 4;
      last = t;
    }
    if (!allowed) continue;
    double squares = 0;
    for (int t = 0; t < 12; ++t) {
      double moved = 0;
      for (int j = 0; j <= std::min(t, 3); ++j)
        if (pattern >> (t - j) & 1) moved += static_cast<double>(m[static_cast<size_t>(j)]) / 256;
      squares += moved * moved;
    }
    most = std::max(most, std::sqrt(squares));
  }
  EXPECT_LE(most, bound * (1 + 1e-12));
  EXPECT_GT(most, .99 * bound);
}

TEST(PlanDiscreteNoise, BandedDiscreteNoiseIsCalibrated) {
  PlanOptions options = banded({}, DiscreteGaussian{.grid_scale = 16});
  options.strategy = BandedNoise{.bands = 4};
  options.noise_multiplier.reset();
  options.epsilon = 2;
  const Plan plan = make_plan(options);
  EXPECT_LE(plan.epsilon(), 2);
  EXPECT_GT(plan.epsilon(), 1.99);
  options.mechanism = DiscreteGaussian{.grid_scale = 32};
  EXPECT_NE(make_plan(options).fingerprint(), plan.fingerprint());
}

TEST(PlanDiscreteNoise, BandedDiscreteNoiseKeepsWithinTheGrid) {
  PlanOptions options = banded({4, 1}, DiscreteGaussian{.grid_scale = 16});
  options.noise_multiplier = .4;  // 1.6 sqrt(17) / 4 of the norm: 6.6 steps
  expect_error([&] { make_plan(options); },
               "expected noise of at least 8 steps of the grid, got 6.6");
  options.noise_multiplier = 300;
  options.mechanism = DiscreteGaussian{.grid_scale = 1 << 20};
  expect_error([&] { make_plan(options); }, "expected noise of at most 2^24 steps of the grid");
}

TEST(PlanDiscreteNoise, OneGridServesAllPartsOfAGradient) {
  PlanOptions options = banded({}, DiscreteGaussian{.grid_scale = 1000});
  options.strategy = IndependentNoise{};
  options.l2_clip_norm = 3;
  options.subtree_norms = {{"a", 4.0}};
  options.normalize_by = 10;
  const Plan plan = make_plan(options);
  EXPECT_DOUBLE_EQ(plan.clipped_norm(), .5);
  EXPECT_EQ(plan.clip_options().subtree_norms.size(), 1u);
  EXPECT_EQ(plan.clip_options().grid_scale, 1000);
  options.subtree_norms.clear();
  EXPECT_DOUBLE_EQ(make_plan(options).epsilon(), plan.epsilon());
}

// Each step has its own grid, and the guarantee is that of the Gaussian plan with the same
// schedules.
TEST(PlanDiscreteNoise, SchedulesChangeTheGrid) {
  PlanOptions options = banded({}, DiscreteGaussian{.grid_scale = 1000});
  options.strategy = IndependentNoise{};
  options.noise_schedule = {{0, 1}, {20, 2}, {40, .5}};
  options.clip_norm_schedule = {{0, 1}, {30, .25}};
  const Plan plan = make_plan(options);
  const auto factors = [&](int64_t step) { return *plan.clip_options(step).grid_factors; };
  EXPECT_EQ(factors(0).scale.item<double>(), 1);
  EXPECT_EQ(factors(25).scale.item<double>(), .5);
  EXPECT_EQ(factors(25).clip.item<double>(), 1);
  EXPECT_EQ(factors(59).scale.item<double>(), 2);
  EXPECT_EQ(factors(59).clip.item<double>(), .25);
  EXPECT_EQ(factors(59).least_scale, .5);
  EXPECT_EQ(factors(59).most_scale, 2);
  EXPECT_EQ(plan.clip_options(3).l2_clip_norm.number(), 1);
  const double steps = .8 * 1000;
  options.mechanism = Gaussian{};
  options.noise_multiplier = .8 * std::sqrt(steps * steps - 4) / steps;
  for (const int64_t until : {10, 30, 60})
    EXPECT_NEAR(plan.epsilon(until), make_plan(options).epsilon(until), 1e-9 * plan.epsilon(until));
  EXPECT_EQ(make_plan(options).clip_options(35).l2_clip_norm.number(), .25);
  EXPECT_FALSE(make_plan(options).clip_options(35).grid_factors.has_value());
  expect_error([&] { plan.clip_options(60); },
               "[privacy::Plan::clip_options] expected a step in [0, 60), those of the "
               "plan, got 60");
  expect_error([&] { plan.clip_options(-1); }, "got -1");
  options.mechanism = DiscreteGaussian{};
  options.noise_schedule = 1;
  options.clip_norm_schedule = 1;
  EXPECT_FALSE(make_plan(options).clip_options(0).grid_factors.has_value());
}

TEST(PlanDiscreteNoise, StrategiesWithoutWholeNumbersAreRefused) {
  PlanOptions options = banded({}, DiscreteGaussian{});
  options.amplified = false;
  options.strategy = BufferedNoise{};
  expect_error([&] { make_plan(options); },
               "expected IndependentNoise or BandedNoise, not BufferedNoise, for DiscreteGaussian, "
               "which a plan has that names no mechanism, whose noise is whole numbers and keeps "
               "those of a few steps; take one of these, or .mechanism = Gaussian{}");
  options.strategy = DenseNoise{mf::Matrix::identity(60)};
  expect_error([&] { make_plan(options); }, "not DenseNoise,");
  options.strategy = BandedInverseNoise{.bands = 2};
  expect_error([&] { make_plan(options); }, "not BandedInverseNoise,");
}

}  // namespace
}  // namespace tessera::privacy::plan_discrete_noise_test
