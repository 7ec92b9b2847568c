// Compares plans with jax_privacy's execution plans; what plans refuse.
#include "tessera/privacy/plan.h"

#include <cmath>
#include <set>

#include "plan_options.h"
#include "tessera/privacy/accounting/events.h"

namespace tessera::privacy::plan_test {
namespace {

using namespace plan_options;

// The values are dp_accounting's, for the table in docs and for jax_privacy's
// BandMFExecutionPlanConfig.
TEST(PlanTest, EpsilonAndNoiseFollowFromEachOther) {
  EXPECT_NEAR(make_plan(dpsgd()).epsilon(), 1.8282436455855091, 1e-6);
  PlanOptions options = dpsgd();
  options.noise_multiplier.reset();
  options.epsilon = 3;
  const Plan plan = make_plan(options);
  EXPECT_NEAR(plan.noise_multiplier(), .8135849036809418, 2e-6);
  EXPECT_LE(plan.epsilon(), 3);
  EXPECT_GT(plan.epsilon(), 2.9999);
  options.accountant = Accountant::kRdp;
  EXPECT_NEAR(make_plan(options).noise_multiplier(), .8646067090724922, 2e-4);  // other orders
}

TEST(PlanTest, NoiseIsInUnitsOfTheSensitivity) {
  PlanOptions options = dpsgd();
  options.l2_clip_norm = 2;
  options.normalize_by = 4;
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(), .5 * rounded(make_plan(options)));
  options.rescale_to_unit_norm = true;
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(), .25 * rounded(make_plan(options)));
  options.normalize_by.reset();  // the expected batch size
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(), .01 * rounded(make_plan(options)));
  EXPECT_EQ(make_plan(options).expected_batch_size(), 100);
}

// Accountants know that replacing an example moves the sum by twice its norm. jax_privacy's plan
// counts that again in the noise.
TEST(PlanTest, ReplacedExamplesCountTwiceOnce) {
  PlanOptions options = dpsgd();
  options.relation = NeighboringRelation::kReplaceOne;
  options.steps = 100;
  options.sampling_prob = .1;
  options.noise_multiplier = 2;
  options.normalize_by = 1;
  EXPECT_NEAR(make_plan(options).epsilon(), 4.368097210673304, 1e-6);
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(), 2 * rounded(make_plan(options)));
}

TEST(PlanTest, EpsilonGrowsWithTheSteps) {
  for (const PlanOptions& options : {dpsgd(), banded()}) {
    const Plan plan = make_plan(options);
    EXPECT_EQ(plan.epsilon(0), 0);
    double last = 0;
    for (int64_t steps : {int64_t{1}, plan.steps() / 2, plan.steps()}) {
      EXPECT_GT(plan.epsilon(steps), last);
      last = plan.epsilon(steps);
    }
    EXPECT_EQ(last, plan.epsilon());
    expect_error([&] { plan.epsilon(-1); }, "expected between 0 and");
    expect_error([&] { plan.epsilon(plan.steps() + 1); }, "those of the plan");
  }
}

TEST(PlanTest, WithoutNoiseNothingIsPrivate) {
  PlanOptions options = dpsgd();
  options.noise_multiplier = 0;
  EXPECT_EQ(make_plan(options).epsilon(0), 0);
  EXPECT_EQ(make_plan(options).epsilon(1), kInf);
}

TEST(PlanTest, FingerprintsTellPlansApart) {
  std::vector<PlanOptions> all{dpsgd(), banded()};
  const auto changed = [&](auto change) {
    PlanOptions options = dpsgd();
    change(options);
    all.push_back(options);
  };
  changed([](PlanOptions& o) { o.steps = 999; });
  changed([](PlanOptions& o) { o.num_examples = 9'999; });
  changed([](PlanOptions& o) { o.subtree_norms = {{"w", 1}}; });
  changed([](PlanOptions& o) { o.subtree_norms = {{"w", 2}}; });
  changed([](PlanOptions& o) { o.subtree_norms = {{"b", 2}}; });
  changed([](PlanOptions& o) { o.sampling_prob = std::nextafter(.01, 1); });
  changed([](PlanOptions& o) { o.noise_multiplier = std::nextafter(1, 2); });
  changed([](PlanOptions& o) { o.delta = 1e-6; });
  changed([](PlanOptions& o) { o.relation = NeighboringRelation::kReplaceSpecial; });
  changed([](PlanOptions& o) { o.accountant = Accountant::kRdp; });
  changed([](PlanOptions& o) { o.amplified = false; });
  changed([](PlanOptions& o) { o.noise_schedule = {{0, 1}, {9, 2}}; });
  changed([](PlanOptions& o) { o.batch_size_schedule = {{0, 1}, {9, 2}}; });
  changed([](PlanOptions& o) { o.examples_per_user = 2; });
  changed([](PlanOptions& o) { o.l2_clip_norm = 2; });
  changed([](PlanOptions& o) { o.rescale_to_unit_norm = true; });
  changed([](PlanOptions& o) { o.normalize_by = 7; });
  changed([](PlanOptions& o) { o.nan_safe = NanSafe::kElement; });
  changed([](PlanOptions& o) { o.strategy = BandedNoise{.strategy = {2}}; });
  std::set<std::string> fingerprints;
  for (const PlanOptions& options : all) {
    EXPECT_EQ(make_plan(options).fingerprint(), make_plan(options).fingerprint());
    fingerprints.insert(make_plan(options).fingerprint());
  }
  EXPECT_EQ(fingerprints.size(), all.size());
  EXPECT_NE(make_plan(dpsgd()).fingerprint("adam"), make_plan(dpsgd()).fingerprint());
  EXPECT_EQ(make_plan(dpsgd()).fingerprint().size(), 64);
}

TEST(PlanTest, InOneLine) {
  EXPECT_EQ(to_string(make_plan(dpsgd())),
            "epsilon 1.828 at delta 1e-05 (add_or_remove_one) for 1000 steps of poisson batches of "
            "100 on average; noise multiplier 1, stddev 0.01002");
}

TEST(PlanTest, OtherReleasesCountInEveryEpsilon) {
  PlanOptions options = dpsgd();
  const double alone = make_plan(options).epsilon();
  options.other_releases = accounting::GaussianDpEvent{4};
  const Plan plan = make_plan(options);
  accounting::PldAccountant other = accounting::PldAccountant().compose(*options.other_releases);
  const double beside = other.get_epsilon(1e-5);
  EXPECT_NEAR(plan.epsilon(0), beside, 1e-9);
  EXPECT_GT(plan.epsilon(), std::max(alone, beside));
  EXPECT_LT(plan.epsilon(), alone + beside);
  EXPECT_NEAR(
      plan.epsilon(),
      other.compose(accounting::dpsgd_event(1, 1000, {.sampling_prob = .01})).get_epsilon(1e-5),
      1e-6);
  EXPECT_NE(plan.fingerprint(), make_plan(dpsgd()).fingerprint());
  options.noise_multiplier.reset(), options.epsilon = 3;
  const Plan calibrated = make_plan(options);
  EXPECT_NEAR(calibrated.epsilon(), 3, 1e-3);
  EXPECT_LE(calibrated.epsilon(), 3);
  options.other_releases.reset();
  EXPECT_GT(calibrated.noise_multiplier(), make_plan(options).noise_multiplier());
}

TEST(PlanTest, OtherReleasesThatDoNotFitAreErrors) {
  PlanOptions options = dpsgd();
  options.other_releases = accounting::ZCDpEvent{.rho = .1};
  expect_error([&] { make_plan(options); },
               "expected other_releases that the accountant supports under");
  options.other_releases = accounting::GaussianDpEvent{1};
  options.noise_multiplier.reset(), options.epsilon = 3;
  expect_error([&] { make_plan(options); }, "which other_releases spend by themselves, got 3");
}

TEST(PlanTest, NumbersOutsideTheirRange) {
  expect_refused([](PlanOptions& o) { o.num_examples = 0; }, "num_examples, steps and bands");
  expect_refused([](PlanOptions& o) { o.steps = 0; }, "num_examples, steps and bands");
  for (double bad : {0., -1., kNan, kInf}) {
    expect_refused([&](PlanOptions& o) { o.l2_clip_norm = bad; }, "finite l2_clip_norm above 0");
    expect_refused([&](PlanOptions& o) { o.normalize_by = bad; }, "finite normalize_by above 0");
    expect_refused([&](PlanOptions& o) { o.delta = bad; }, "a delta in (0, 1)");
    expect_refused(
        [&](PlanOptions& o) {
          o.noise_multiplier.reset();
          o.epsilon = bad;
        },
        "finite epsilon above 0");
    expect_refused(
        [&](PlanOptions& o) {
          o.sampling_prob.reset();
          o.expected_batch_size = bad;
        },
        "finite expected_batch_size above 0");
  }
  for (double bad : {-1., kNan, kInf})
    expect_refused([&](PlanOptions& o) { o.noise_multiplier = bad; }, "finite noise_multiplier");
  expect_refused([](PlanOptions& o) { o.delta = 1; }, "a delta in (0, 1)");
  expect_refused([](PlanOptions& o) { o.nan_safe = NanSafe::kNo; }, "got kNo");
  for (double bad : {0., -1., kNan, kInf}) {
    expect_refused([&](PlanOptions& o) { o.noise_schedule = bad; }, "finite factors above 0");
    expect_refused([&](PlanOptions& o) { o.batch_size_schedule = bad; }, "finite factors above 0");
  }
  expect_refused([](PlanOptions& o) { o.noise_schedule = {{1, 1}}; }, "ascend from 0, got 1");
  expect_refused([](PlanOptions& o) { o.noise_schedule = {{0, 1}, {2, 1}, {2, 3}}; }, "ascend");
  expect_refused([](PlanOptions& o) { o.batch_size_schedule = {}; }, "ascend from 0, got 0");
  expect_refused(
      [](PlanOptions& o) {
        o.batch_size_schedule = {{0, 1}, {9, 101}};
      },
      "factors of batch_size_schedule of at most 100");
}

TEST(PlanTest, WhatFollowsFromOthersIsNotGiven) {
  expect_refused([](PlanOptions& o) { o.epsilon = 1; }, "epsilon and noise_multiplier, got both");
  expect_refused([](PlanOptions& o) { o.noise_multiplier.reset(); },
                 "epsilon and noise_multiplier, got neither");
  expect_refused([](PlanOptions& o) { o.expected_batch_size = 1; },
                 "expected_batch_size and sampling_prob, got both");
  expect_refused([](PlanOptions& o) { o.sampling_prob.reset(); },
                 "expected_batch_size and sampling_prob, got neither");
  expect_refused(
      [](PlanOptions& o) {
        o.sampling_prob.reset();
        o.expected_batch_size = 10'001;
      },
      "an expected_batch_size of at most 10000");
  PlanOptions options = of_sampler(batch_selection::CyclicPoissonSampling{
      .num_examples = 100, .sampling_prob = .1, .iterations = 10});
  options.steps = 11;
  expect_error([&] { make_plan(options); }, "expected the sampler alone");
  options.steps = 10;
  options.batch_size_schedule = 2;
  expect_error([&] { make_plan(options); }, "probability, its changes and truncation");
  options.batch_size_schedule = 1;
  options.num_examples = 100;
  EXPECT_EQ(make_plan(options).steps(), 10);
}

}  // namespace
}  // namespace tessera::privacy::plan_test
