// What plans say of epsilons that samples prove, and of deltas that promise little.
#include "tessera/privacy/plan_monte_carlo.h"

#include "../errors.h"
#include "tessera/base/warning.h"
#include "tessera/privacy/plan.h"

namespace tessera::privacy {
namespace {

using tessera::testing::expect_error;

PlanOptions in_bins(int64_t iterations) {
  return {.sampler =
              batch_selection::BallsInBinsSampling{
                  .num_examples = 64, .iterations = iterations, .cycle_length = 4},
          .noise_multiplier = 1,
          .delta = .01,
          .accountant = Accountant::kMonteCarlo,
          .monte_carlo_samples = 20'000,
          .monte_carlo_seed = 0};
}

TEST(PlanMonteCarlo, SamplesSayHowSureTheyAre) {
  PlanOptions options = in_bins(4);
  options.noise_multiplier.reset();
  options.epsilon = 2;
  const Plan plan = make_plan(options);
  const accounting::MonteCarloEpsilon proven = plan.monte_carlo_epsilon(4);
  EXPECT_EQ(proven.epsilon, plan.epsilon());
  EXPECT_LT(proven.delta, plan.delta());
  EXPECT_DOUBLE_EQ(proven.confidence, 1 - 2 * .01 * plan.delta());
  EXPECT_EQ(proven.samples, 20'000);
  EXPECT_EQ(plan.monte_carlo_epsilon(3).epsilon, plan.epsilon(3));
  EXPECT_EQ(make_plan(options).noise_multiplier(), plan.noise_multiplier());  // by the seed

  // Without a seed every plan draws its own.
  options = in_bins(4);
  options.monte_carlo_seed.reset();
  EXPECT_NE(make_plan(options).epsilon(), make_plan(options).epsilon());

  expect_error([&] { plan.monte_carlo_epsilon(0); }, "expected between 1 and 4 steps");
  expect_error([&] { plan.monte_carlo_epsilon(5); }, "expected between 1 and 4 steps");
  options.noise_multiplier = 0;
  expect_error([&] { make_plan(options).monte_carlo_epsilon(1); },
               "expected a plan of Accountant::kMonteCarlo with noise");
}

TEST(PlanMonteCarlo, LargeDeltasAreWarnedOf) {
  std::vector<std::string> seen;
  const WarningHandler before =
      set_warning_handler([&](const std::string& text) { seen.push_back(text); });
  PlanOptions options{.num_examples = 1000,
                      .steps = 5,
                      .expected_batch_size = 10,
                      .noise_multiplier = 1,
                      .delta = 1e-3};
  make_plan(options);
  options.delta = 9.9e-4;
  make_plan(options);
  set_warning_handler(before);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_THAT(seen[0], ::testing::HasSubstr(
                           "[privacy::make_plan] expected a delta below 1 / num_examples = 0.001"));
}

}  // namespace
}  // namespace tessera::privacy
