// Epsilons of plans that samples prove, and the warnings for deltas that promise little.
#include "tessera/privacy/plan_monte_carlo.h"

#include <cmath>

#include "plan_options.h"
#include "tessera/base/warning.h"
#include "tessera/privacy/accounting/events.h"
#include "tessera/privacy/accounting/gaussian_mechanism.h"

namespace tessera::privacy::plan_monte_carlo_test {
namespace {

using namespace plan_options;

// Returns options with balls in bins of cycles of 4 steps.
PlanOptions in_bins(int64_t iterations) {
  return {.sampler =
              batch_selection::BallsInBinsSampling{
                  .num_examples = 64, .iterations = iterations, .cycle_length = 4},
          .noise_multiplier = 1,
          .delta = .01,
          .accountant = Accountant::kMonteCarlo,
          .monte_carlo_samples = 20'000,
          .monte_carlo_seed = 0,
          .mechanism = Gaussian{}};
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
  EXPECT_EQ(make_plan(options).noise_multiplier(), plan.noise_multiplier());  // because of the seed

  // Without a seed every plan draws its own seed.
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

TEST(PlanMonteCarlo, SamplesProveEpsilons) {
  // One bin is one Gaussian mechanism, whose epsilon is known.
  PlanOptions one = in_bins(1);
  one.sampler =
      batch_selection::BallsInBinsSampling{.num_examples = 64, .iterations = 1, .cycle_length = 1};
  const double exact = accounting::get_epsilon_gaussian(1, .01);
  EXPECT_GT(make_plan(one).epsilon(), exact);
  EXPECT_LT(make_plan(one).epsilon(), 1.15 * exact);

  // With amplification epsilon is smaller, and the law is that of an allocation to one of four
  // steps.
  const Plan bins = make_plan(in_bins(4));
  EXPECT_LT(bins.epsilon(), .8 * exact);
  PlanOptions allocated = in_bins(4);
  allocated.sampler =
      batch_selection::RandomAllocationSampling{.num_examples = 64, .iterations = 4};
  EXPECT_NEAR(make_plan(allocated).epsilon(), bins.epsilon(), .1);
  PlanOptions apart = in_bins(4);  // Poisson samples where nothing is kept apart
  apart.sampler = batch_selection::BMinSepSampling{
      .num_examples = 64, .sampling_prob = .25, .iterations = 4, .min_sep = 1};
  const double poisson = accounting::PldAccountant()
                             .compose(accounting::dpsgd_event(1, 4, {.sampling_prob = .25}))
                             .get_epsilon(.01);
  EXPECT_GT(make_plan(apart).epsilon(), poisson);
  EXPECT_LT(make_plan(apart).epsilon(), 1.2 * poisson);
  // 16 rounds with noise 4 are like one round with noise 1, up to the steps of the last round.
  PlanOptions rounds = in_bins(62);
  rounds.noise_multiplier = 4;
  EXPECT_EQ(make_plan(rounds).epsilon(), bins.epsilon());
  EXPECT_LT(make_plan(rounds).epsilon(20), bins.epsilon());
  EXPECT_EQ(make_plan(rounds).epsilon(0), 0);
  expect_error([&] { bins.event(1); }, "which has no events");
  rounds.strategy = BandedNoise{.bands = 2};
  EXPECT_LT(make_plan(rounds).epsilon(), 2 * bins.epsilon());
}

// A PLD accounts as if everybody knew the group of an example; samples do not.
TEST(PlanMonteCarlo, SamplesOfIndependentGroupsSayLessThanTheGroupKnown) {
  PlanOptions options = in_bins(8);
  const batch_selection::CyclicPoissonSampling cyclic{
      .num_examples = 64,
      .sampling_prob = .5,
      .iterations = 8,
      .cycle_length = 4,
      .partition = batch_selection::PartitionType::kIndependent};
  options.sampler = cyclic;
  const double sampled = make_plan(options).epsilon();
  options.accountant = Accountant::kPld;
  EXPECT_LT(sampled, .9 * make_plan(options).epsilon());
  EXPECT_GT(sampled, .1);
  options.accountant = Accountant::kMonteCarlo;
  options.strategy = BandedNoise{.bands = 5};
  expect_error([&] { make_plan(options); }, "expected at most cycle_length = 4 bands, got 5");
  options.strategy = IndependentNoise{};
  batch_selection::CyclicPoissonSampling equal = cyclic;
  equal.partition = batch_selection::PartitionType::kEqualSplit;
  options.sampler = equal, options.relation = NeighboringRelation::kReplaceSpecial;
  expect_error([&] { make_plan(options); }, "Poisson samples of independent groups");
}

// Samples of one Gaussian mechanism, and another one released with it: the epsilon of two is known.
TEST(PlanMonteCarlo, OtherReleasesCountWithSamples) {
  PlanOptions one = in_bins(1);
  one.sampler =
      batch_selection::BallsInBinsSampling{.num_examples = 64, .iterations = 1, .cycle_length = 1};
  one.other_releases = accounting::GaussianDpEvent{1};
  const double exact = accounting::get_epsilon_gaussian(1 / std::sqrt(2), .01);
  const Plan plan = make_plan(one);
  EXPECT_GT(plan.epsilon(), exact);
  EXPECT_LT(plan.epsilon(), 1.15 * exact);
  EXPECT_NEAR(plan.epsilon(0), accounting::get_epsilon_gaussian(1, .01), 1e-9);
  // A small other release changes little. It counts when noise is calibrated.
  PlanOptions bins = in_bins(4);
  const double alone = make_plan(bins).epsilon();
  bins.other_releases = accounting::GaussianDpEvent{100};
  EXPECT_NEAR(make_plan(bins).epsilon(), alone, .05);
  bins.other_releases = accounting::GaussianDpEvent{4};
  bins.noise_multiplier.reset(), bins.epsilon = 1.5;
  const Plan found = make_plan(bins);
  EXPECT_LE(found.epsilon(), 1.5);
  bins.other_releases.reset();
  EXPECT_GT(found.noise_multiplier(), make_plan(bins).noise_multiplier());
}

TEST(PlanMonteCarlo, NoiseFoundBySamplesIsProvedByOthers) {
  PlanOptions options = in_bins(4);
  options.noise_multiplier.reset();
  options.epsilon = 1.5;
  const Plan plan = make_plan(options);
  EXPECT_LE(plan.epsilon(), 1.5);
  EXPECT_GT(plan.epsilon(), 1.3);
  EXPECT_EQ(make_plan(options).noise_multiplier(), plan.noise_multiplier());
  options.monte_carlo_seed = 1;
  EXPECT_NEAR(make_plan(options).noise_multiplier(), plan.noise_multiplier(), .1);
}

TEST(PlanMonteCarlo, WhatSamplesDoNotProve) {
  const auto refused = [](const std::function<void(PlanOptions&)>& change, const char* text) {
    PlanOptions options = in_bins(4);
    change(options);
    expect_error([&] { make_plan(options); }, text);
  };
  refused([](PlanOptions& o) { o.delta = 1e-5; }, "monte_carlo_samples to prove a delta of 1e-05");
  refused([](PlanOptions& o) { o.monte_carlo_samples = 0; }, "monte_carlo_samples to prove");
  refused([](PlanOptions& o) { o.amplified = false; }, "expected an amplified plan");
  refused([](PlanOptions& o) { o.relation = NeighboringRelation::kReplaceOne; },
          "under add_or_remove_one or replace_special");
  refused([](PlanOptions& o) { o.noise_schedule = {{0, 1}, {2, 2}}; }, "of one multiplier");
  refused([](PlanOptions& o) { o.examples_per_user = 2; }, "one example a user");
  refused([](PlanOptions& o) { o.strategy = BufferedNoise{}; }, "independent or banded noise");
  PlanOptions poisson = dpsgd();
  poisson.accountant = Accountant::kMonteCarlo;
  expect_error([&] { make_plan(poisson); }, "got poisson");
}

}  // namespace
}  // namespace tessera::privacy::plan_monte_carlo_test
