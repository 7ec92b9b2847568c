// Plans against jax_privacy's execution plans, and what they refuse.
#include "tessera/privacy/plan.h"

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "../errors.h"

namespace tessera::privacy {
namespace {

using tessera::testing::expect_error;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

PlanOptions dpsgd() {
  return {.num_examples = 10'000,
          .steps = 1000,
          .sampling_prob = .01,
          .noise_multiplier = 1,
          .delta = 1e-5};
}
PlanOptions banded() {
  return {.num_examples = 1000,
          .steps = 100,
          .sampling_prob = .4,
          .epsilon = 1,
          .delta = 1e-5,
          .relation = NeighboringRelation::kReplaceSpecial,
          .mechanism = BandedNoise{.strategy = {1, .5, .2, .1}},
          .rescale_to_unit_norm = true,
          .normalize_by = 1};
}
PlanOptions of_sampler(const batch_selection::BatchSelectionStrategy& sampler) {
  return {.sampler = sampler, .noise_multiplier = 2, .delta = 1e-5};
}

// dp_accounting's values, of docs' table and of jax_privacy's BandMFExecutionPlanConfig.
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
  EXPECT_EQ(make_plan(options).stddev(), .5);
  options.rescale_to_unit_norm = true;
  EXPECT_EQ(make_plan(options).stddev(), .25);
  options.normalize_by.reset();  // the expected batch size
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(), .01);
  EXPECT_EQ(make_plan(options).expected_batch_size(), 100);
}

TEST(PlanTest, BandedNoiseOfJaxPrivacysPlan) {
  const Plan plan = make_plan(banded());
  EXPECT_NEAR(plan.stddev(), 8.76001578539806, 2e-5);
  EXPECT_EQ(plan.sampling().cycle_length, 4);
  EXPECT_EQ(plan.sampling().partition, batch_selection::PartitionType::kEqualSplit);
  EXPECT_NEAR(plan.sensitivity(), std::sqrt(1.3), 1e-15);
  PlanOptions other = banded();
  other.epsilon.reset();
  other.noise_multiplier = 2;
  EXPECT_NEAR(make_plan(other).epsilon(), 5.090177261871887, 1e-6);
}

// What accounts for them takes seconds where groups are large (accounting tests have its values).
TEST(PlanTest, TruncatedBatchesAreAccountedForAsSuch) {
  const Plan plan = make_plan({.num_examples = 40,
                               .steps = 100,
                               .sampling_prob = .1,
                               .truncated_batch_size = 6,
                               .noise_multiplier = 1,
                               .delta = 1e-5,
                               .relation = NeighboringRelation::kReplaceSpecial});
  const accounting::DpEvent step = accounting::TruncatedSubsampledGaussianDpEvent{40, .1, 6, 1};
  EXPECT_EQ(plan.event(7), accounting::DpEvent(accounting::SelfComposedDpEvent{step, 7}));
  EXPECT_GT(plan.epsilon(), 0);
}

// Accountants know that an example that is replaced moves the sum by twice its norm; jax_privacy's
// plan counts that twice, in the noise too.
TEST(PlanTest, ReplacedExamplesCountTwiceOnce) {
  PlanOptions options = dpsgd();
  options.relation = NeighboringRelation::kReplaceOne;
  options.steps = 100;
  options.sampling_prob = .1;
  options.noise_multiplier = 2;
  options.normalize_by = 1;
  EXPECT_NEAR(make_plan(options).epsilon(), 4.368097210673304, 1e-6);
  EXPECT_EQ(make_plan(options).stddev(), 2);
}

TEST(PlanTest, ExpectedBatchSizesOfGroups) {
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

// One Gaussian mechanism of as many participations as an example can have: epsilon of 3.7306316348
// is 1 at delta 1e-5 (analytic Gaussian).
TEST(PlanTest, WithoutAmplificationParticipationsCount) {
  PlanOptions options = of_sampler(batch_selection::BallsInBinsSampling{
      .num_examples = 64, .iterations = 12, .cycle_length = 3});
  options.amplified = false;
  options.normalize_by = 1;
  options.noise_multiplier = 3.7306316348159374;
  const Plan plan = make_plan(options);
  EXPECT_NEAR(plan.epsilon(), 1, 1e-6);
  EXPECT_DOUBLE_EQ(plan.sensitivity(), 2);  // 4 of 12 steps
  EXPECT_LT(plan.epsilon(3), .5);           // 1 of 3
  EXPECT_EQ(plan.epsilon(1), plan.epsilon(3));
}

TEST(PlanTest, BufferedNoiseIsForTheSamplersSeparations) {
  PlanOptions options = of_sampler(batch_selection::BallsInBinsSampling{
      .num_examples = 64, .iterations = 40, .cycle_length = 10});
  options.amplified = false;
  options.mechanism = BufferedNoise{};
  const Plan plan = make_plan(options);
  const std::vector<double> noise = plan.noising_matrix().row_norms_squared(40);
  EXPECT_GT(noise[39], 1);  // correlated: more noise in a gradient, less in their sum
  double last = 0;
  for (int64_t steps : {1, 11, 40}) {
    EXPECT_GT(plan.epsilon(steps), last);
    last = plan.epsilon(steps);
  }
}

TEST(PlanTest, DenseNoiseIsOfTheInverse) {
  PlanOptions options = of_sampler(
      batch_selection::BallsInBinsSampling{.num_examples = 64, .iterations = 2, .cycle_length = 2});
  options.amplified = false;
  options.normalize_by = 1;
  options.mechanism = DenseNoise{{3, 3, {2, 0, 0, 1, 4, 0, 9, 9, 9}}};  // a row more than steps
  const Plan plan = make_plan(options);
  EXPECT_EQ(plan.noising_matrix().materialize(2), (std::vector<double>{.5, 0, -.125, .25}));
  EXPECT_DOUBLE_EQ(plan.sensitivity(), 4);  // the norm of the second column
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
  changed([](PlanOptions& o) { o.sampling_prob = std::nextafter(.01, 1); });
  changed([](PlanOptions& o) { o.noise_multiplier = std::nextafter(1, 2); });
  changed([](PlanOptions& o) { o.delta = 1e-6; });
  changed([](PlanOptions& o) { o.relation = NeighboringRelation::kReplaceSpecial; });
  changed([](PlanOptions& o) { o.accountant = Accountant::kRdp; });
  changed([](PlanOptions& o) { o.amplified = false; });
  changed([](PlanOptions& o) { o.l2_clip_norm = 2; });
  changed([](PlanOptions& o) { o.rescale_to_unit_norm = true; });
  changed([](PlanOptions& o) { o.normalize_by = 7; });
  changed([](PlanOptions& o) { o.nan_safe = NanSafe::kExample; });
  changed([](PlanOptions& o) { o.mechanism = BandedNoise{.strategy = {2}}; });
  std::set<std::string> fingerprints;
  for (const PlanOptions& options : all) {
    EXPECT_EQ(make_plan(options).fingerprint(), make_plan(options).fingerprint());
    fingerprints.insert(make_plan(options).fingerprint());
  }
  EXPECT_EQ(fingerprints.size(), all.size());
  EXPECT_NE(make_plan(dpsgd()).fingerprint("adam"), make_plan(dpsgd()).fingerprint());
  EXPECT_EQ(make_plan(dpsgd()).fingerprint().size(), 32);
}

TEST(PlanTest, ClipOptionsAndTheSampler) {
  PlanOptions options = dpsgd();
  options.l2_clip_norm = 3;
  options.nan_safe = NanSafe::kExample;
  const Plan plan = make_plan(options);
  EXPECT_EQ(plan.clip_options().l2_clip_norm.number(), 3);
  EXPECT_EQ(plan.clip_options().normalize_by, 100);
  EXPECT_EQ(plan.clip_options().nan_safe, NanSafe::kExample);
  plan.check_sampler(description(plan.sampler()));
  const batch_selection::CyclicPoissonSampling other{
      .num_examples = 10'000, .sampling_prob = .02, .iterations = 1000};
  expect_error([&] { plan.check_sampler(other.description()); },
               "expected the sampler that is accounted for (poisson 10000");
}

TEST(PlanTest, InOneLine) {
  EXPECT_EQ(to_string(make_plan(dpsgd())),
            "epsilon 1.828 at delta 1e-05 (add_or_remove_one) for 1000 steps of poisson batches of "
            "100 on average; noise multiplier 1, stddev 0.01");
}

void expect_refused(const std::function<void(PlanOptions&)>& change, const char* text) {
  PlanOptions options = dpsgd();
  change(options);
  expect_error([&] { make_plan(options); }, text);
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
  options.num_examples = 100;
  EXPECT_EQ(make_plan(options).steps(), 10);
}

// A sampler without an accountant, or with another one.
TEST(PlanTest, SamplersWithoutAnAccountant) {
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
  expect_error([&] { make_plan(options); }, "take Accountant::kRdp");
  options.accountant = Accountant::kRdp;
  EXPECT_GT(make_plan(options).epsilon(), 0);
  fixed.replace = true;
  options.sampler = fixed;
  expect_error([&] { make_plan(options); }, "expected a sampler that the accountant supports");
  options.amplified = false;
  expect_error([&] { make_plan(options); }, "at most once in a batch");
}

TEST(PlanTest, RelationsThatThePartitionDoesNotFit) {
  const batch_selection::CyclicPoissonSampling equal{
      .num_examples = 64, .sampling_prob = .1, .iterations = 12, .cycle_length = 2};
  expect_error([&] { make_plan(of_sampler(equal)); }, "with PartitionType::kIndependent");
  expect_refused([](PlanOptions& o) { o.truncated_batch_size = 150; },
                 "without truncated_batch_size");
}

TEST(PlanTest, FactorisationsThatDoNotFit) {
  expect_refused(
      [](PlanOptions& o) {
        o.amplified = false;
        o.mechanism = DenseNoise{matrix_factorization::Matrix::identity(999)};
      },
      "expected a factorisation of at least 1000 rows, one a step, got 999");
  expect_refused([](PlanOptions& o) { o.mechanism = BufferedNoise{}; },
                 "expected independent or banded noise in an amplified plan");
  PlanOptions options = of_sampler(batch_selection::CyclicPoissonSampling{
      .num_examples = 64, .sampling_prob = .1, .iterations = 2});
  options.mechanism = BandedNoise{.bands = 2};
  expect_error([&] { make_plan(options); }, "expected at most 1 bands, the cycle");
  options.mechanism = BandedNoise{.bands = 3};
  expect_error([&] { make_plan(options); }, "expected between 1 and 2 bands");
  options.mechanism = BandedNoise{.strategy = {0, 1}};
  expect_error([&] { make_plan(options); }, "first coefficient other than 0");
  options.mechanism = BandedNoise{.strategy = {1, kNan}};
  expect_error([&] { make_plan(options); }, "a strategy of finite numbers");
  options.amplified = false;
  options.mechanism = DenseNoise{{2, 2, {1, 1, 0, 1}}};
  expect_error([&] { make_plan(options); }, "expected a lower-triangular strategy");
  options.mechanism = DenseNoise{{2, 3, {1, 0, 0, 1, 0, 0}}};
  expect_error([&] { make_plan(options); }, "expected a square strategy");
}

}  // namespace
}  // namespace tessera::privacy
