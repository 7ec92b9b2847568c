// The samplers of plans: how they are accounted for, and which ones are refused.
#include "plan_options.h"
#include "tessera/privacy/batch_selection/user_selection.h"

namespace tessera::privacy::plan_sampling_test {
namespace {

using namespace plan_options;

// The tests of accounting have the values.
TEST(PlanSampling, TruncatedBatchesAreAccountedForAsSuch) {
  const Plan plan = make_plan({.num_examples = 40,
                               .steps = 100,
                               .sampling_prob = .1,
                               .truncated_batch_size = 6,
                               .noise_multiplier = 1,
                               .delta = 1e-5,
                               .relation = NeighboringRelation::kReplaceSpecial,
                               .mechanism = Gaussian{}});
  const accounting::DpEvent step = accounting::TruncatedSubsampledGaussianDpEvent{40, .1, 6, 1};
  EXPECT_EQ(plan.event(7), accounting::DpEvent(accounting::SelfComposedDpEvent{step, 7}));
  EXPECT_GT(plan.epsilon(), 0);
}

TEST(PlanSampling, ExpectedBatchSizesOfGroups) {
  PlanOptions options = banded();
  options.sampling_prob.reset();
  options.expected_batch_size = 100;
  EXPECT_NEAR(make_plan(options).expected_batch_size(), 100, 1e-9);
  options.relation = NeighboringRelation::kAddOrRemoveOne;
  const Plan plan = make_plan(options);
  EXPECT_EQ(plan.sampling().partition, batch_selection::PartitionType::kIndependent);
  EXPECT_NEAR(plan.expected_batch_size(), 100, 1e-9);
  EXPECT_NEAR(plan.sampling().sampling_prob, .4, 1e-12);
}

// The plan is one Gaussian mechanism with as many participations as an example can have. With noise
// of 3.7306316348, epsilon is 1 at delta 1e-5 (analytic Gaussian).
TEST(PlanSampling, WithoutAmplificationParticipationsCount) {
  PlanOptions options = of_sampler(batch_selection::BallsInBinsSampling{
      .num_examples = 64, .iterations = 12, .cycle_length = 3});
  options.amplified = false;
  options.normalize_by = 1;
  options.noise_multiplier = 3.7306316348159374;
  const Plan plan = make_plan(options);
  EXPECT_NEAR(plan.epsilon(), 1, 1e-6);
  EXPECT_DOUBLE_EQ(plan.sensitivity(), 2 * rounded(plan));  // 4 of 12 steps
  EXPECT_LT(plan.epsilon(3), .5);                           // 1 of 3
  EXPECT_EQ(plan.epsilon(1), plan.epsilon(3));
}

TEST(PlanSampling, UsersOfSeveralExamples) {
  PlanOptions options = dpsgd();
  options.examples_per_user = 3;
  const Plan plan = make_plan(options);
  const accounting::DpParams params{.noise_multipliers = 1.0,
                                    .num_samples = 10'000,
                                    .delta = 1e-5,
                                    .batch_size = int64_t{100},
                                    .examples_per_user = 3};
  EXPECT_NEAR(plan.epsilon(),
              accounting::DpsgdTrainingUserLevelAccountant{}.compute_epsilon(1000, params), 1e-6);
  EXPECT_GT(plan.epsilon(), 2 * make_plan(dpsgd()).epsilon());
  batch_selection::SamplingDescription sampled = description(plan.sampler());
  expect_error([&] { plan.check_sampler(sampled); }, "expected the sampler that is accounted for");
  sampled.examples_per_user = 3;
  plan.check_sampler(sampled);

  // Without amplification examples move the sums of all their steps, which is three times as much.
  options.amplified = false;
  options.steps = 1;
  options.noise_multiplier = 3 * 3.7306316348159374;
  EXPECT_NEAR(make_plan(options).epsilon(), 1, 1e-6);
  options.amplified = true;
  options.accountant = Accountant::kRdp;
  expect_error([&] { make_plan(options); }, "under PLD and add_or_remove_one or replace_special");
  options.accountant = Accountant::kPld;
  options.relation = NeighboringRelation::kReplaceOne;
  expect_error([&] { make_plan(options); }, "for users of 3 examples");
  options.examples_per_user = 0;
  expect_error([&] { make_plan(options); }, "examples_per_user of at least 1, got 0");
}

// Users are the examples of a plan if a row of the data is a user.
TEST(PlanSampling, SelectedUsersAreExamples) {
  const batch_selection::UserSelectionStrategy users{
      .base_strategy =
          batch_selection::CyclicPoissonSampling{
              .num_examples = 1000, .sampling_prob = .1, .iterations = 50},
      .examples_per_user_per_batch = 4};
  const Plan plan = make_plan(of_sampler(users.base_strategy));
  plan.check_sampler(users.description());
  EXPECT_EQ(plan.expected_batch_size(), 100);
}

// Samplers without an accountant, or with an accountant for others.
TEST(PlanSampling, SamplersWithoutAnAccountant) {
  const batch_selection::BallsInBinsSampling bins{
      .num_examples = 64, .iterations = 12, .cycle_length = 3};
  expect_error([&] { make_plan(of_sampler(bins)); }, "got balls_in_bins");
  const batch_selection::BMinSepSampling separated{
      .num_examples = 64, .sampling_prob = .1, .iterations = 12, .min_sep = 2};
  expect_error([&] { make_plan(of_sampler(separated)); }, "amplified = false accounts");
  batch_selection::FixedBatchSampling fixed{.num_examples = 64, .batch_size = 8, .iterations = 12};
  PlanOptions options = of_sampler(fixed);
  expect_error([&] { make_plan(options); }, "account for replace_one");
  options.relation = NeighboringRelation::kReplaceOne;
  const double by_pld = make_plan(options).epsilon();
  EXPECT_GT(by_pld, 0);
  options.accountant = Accountant::kRdp;
  EXPECT_GT(make_plan(options).epsilon(), by_pld);
  fixed.replace = true;
  options.sampler = fixed;
  expect_error([&] { make_plan(options); }, "expected a sampler that the accountant supports");
  options.amplified = false;
  expect_error([&] { make_plan(options); }, "at most once in a batch");
}

TEST(PlanSampling, RelationsThatThePartitionDoesNotFit) {
  const batch_selection::CyclicPoissonSampling equal{
      .num_examples = 64, .sampling_prob = .1, .iterations = 12, .cycle_length = 2};
  expect_error([&] { make_plan(of_sampler(equal)); }, "with PartitionType::kIndependent");
  expect_refused([](PlanOptions& o) { o.truncated_batch_size = 150; },
                 "without truncated_batch_size");
}

}  // namespace
}  // namespace tessera::privacy::plan_sampling_test
