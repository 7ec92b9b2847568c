// Plans against jax_privacy's execution plans, and what they refuse.
#include "tessera/privacy/plan.h"

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "../errors.h"
#include "tessera/privacy/accounting/events.h"
#include "tessera/privacy/accounting/gaussian_mechanism.h"
#include "tessera/privacy/batch_selection/user_selection.h"

namespace tessera::privacy {
namespace {

using tessera::testing::expect_error;

constexpr double kInf = std::numeric_limits<double>::infinity();
// By which noise is more than in exact arithmetic.
// What a plan's sensitivity has for the rounding of its sums.
double rounded(const Plan& plan) { return rounding_factor(plan.clip_options().float32_examples); }
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
          .strategy = BandedNoise{.strategy = {1, .5, .2, .1}},
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
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(), .5 * rounded(make_plan(options)));
  options.rescale_to_unit_norm = true;
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(), .25 * rounded(make_plan(options)));
  options.normalize_by.reset();  // the expected batch size
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(), .01 * rounded(make_plan(options)));
  EXPECT_EQ(make_plan(options).expected_batch_size(), 100);
}

TEST(PlanTest, BandedNoiseOfJaxPrivacysPlan) {
  const Plan plan = make_plan(banded());
  EXPECT_NEAR(plan.stddev() / rounded(plan), 8.76001578539806, 2e-5);
  EXPECT_EQ(plan.sampling().cycle_length, 4);
  EXPECT_EQ(plan.sampling().partition, batch_selection::PartitionType::kEqualSplit);
  EXPECT_NEAR(plan.sensitivity() / rounded(plan), std::sqrt(1.3), 1e-15);
  PlanOptions other = banded();
  other.epsilon.reset();
  other.noise_multiplier = 2;
  EXPECT_NEAR(make_plan(other).epsilon(), 5.090177261871887, 1e-6);
}

// Accounting's tests have the values.
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
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(), 2 * rounded(make_plan(options)));
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
  EXPECT_DOUBLE_EQ(plan.sensitivity(), 2 * rounded(plan));  // 4 of 12 steps
  EXPECT_LT(plan.epsilon(3), .5);                           // 1 of 3
  EXPECT_EQ(plan.epsilon(1), plan.epsilon(3));
}

TEST(PlanTest, BufferedNoiseIsForTheSamplersSeparations) {
  PlanOptions options = of_sampler(batch_selection::BallsInBinsSampling{
      .num_examples = 64, .iterations = 40, .cycle_length = 10});
  options.amplified = false;
  options.strategy = BufferedNoise{};
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
  options.strategy = DenseNoise{{3, 3, {2, 0, 0, 1, 4, 0, 9, 9, 9}}};  // a row more than steps
  const Plan plan = make_plan(options);
  EXPECT_EQ(plan.noising_matrix().materialize(2), (std::vector<double>{.5, 0, -.125, .25}));
  EXPECT_DOUBLE_EQ(plan.sensitivity(), 4 * rounded(plan));  // the norm of the second column
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

TEST(PlanTest, PartsWithClipNormsOfTheirOwn) {
  PlanOptions options = dpsgd();
  options.l2_clip_norm = 4;
  options.subtree_norms = {{"head", 3}};
  EXPECT_DOUBLE_EQ(make_plan(options).sensitivity(), 5 / 100.0 * rounded(make_plan(options)));
  EXPECT_EQ(make_plan(options).clip_options().subtree_norms[0].path, "head");
  options.l2_clip_norm = 0;
  EXPECT_DOUBLE_EQ(make_plan(options).stddev(),
                   3 / 100.0 * rounded(make_plan(options)) * *options.noise_multiplier);
  options.subtree_norms = {{"head", 0}};
  expect_error([&] { make_plan(options); }, "norm of each part that is a number above 0, got 0");
  options.subtree_norms = {{"head", Array(1.0f)}};
  expect_error([&] { make_plan(options); }, "norm of each part that is a number above 0, got inf");
}

TEST(PlanTest, ClipOptionsAndTheSampler) {
  PlanOptions options = dpsgd();
  options.l2_clip_norm = 3;
  options.nan_safe = NanSafe::kElement;
  const Plan plan = make_plan(options);
  EXPECT_EQ(plan.clip_options().l2_clip_norm.number(), 3);
  EXPECT_EQ(plan.clip_options().normalize_by, 100);
  EXPECT_EQ(plan.clip_options().nan_safe, NanSafe::kElement);
  plan.check_sampler(description(plan.sampler()));
  const batch_selection::CyclicPoissonSampling other{
      .num_examples = 10'000, .sampling_prob = .02, .iterations = 1000};
  expect_error([&] { plan.check_sampler(other.description()); },
               "expected the sampler that is accounted for (poisson 10000");
}

TEST(PlanTest, InOneLine) {
  EXPECT_EQ(to_string(make_plan(dpsgd())),
            "epsilon 1.828 at delta 1e-05 (add_or_remove_one) for 1000 steps of poisson batches of "
            "100 on average; noise multiplier 1, stddev 0.01002");
}

// Training's accountant has the same schedules.
TEST(PlanTest, SchedulesOfNoiseAndBatchSize) {
  PlanOptions options = dpsgd();
  options.noise_schedule = {{0, 1}, {400, 1.5}, {700, 1.2}};
  options.batch_size_schedule = {{0, 1}, {600, 2}};
  options.normalize_by.reset();
  const Plan plan = make_plan(options);
  const accounting::DpParams params{
      .noise_multipliers = accounting::Schedule<double>{{0, 1}, {400, 1.5}, {700, 1.2}},
      .num_samples = 10'000,
      .delta = 1e-5,
      .batch_size = accounting::Schedule<int64_t>{{0, 100}, {600, 200}}};
  for (const int64_t steps : {1, 400, 650, 1000})
    EXPECT_NEAR(plan.epsilon(steps),
                accounting::DpsgdTrainingAccountant{}.compute_epsilon(steps, params), 1e-9);
  EXPECT_EQ(plan.expected_batch_size(), 100);
  EXPECT_DOUBLE_EQ(plan.stddev(), .01 * rounded(plan));
  EXPECT_DOUBLE_EQ(plan.stddev(399), .01 * rounded(plan));
  EXPECT_DOUBLE_EQ(plan.stddev(400), .015 * rounded(plan));
  EXPECT_EQ(plan.update_factor(599), 1);
  EXPECT_DOUBLE_EQ(plan.update_factor(600), .5);
  EXPECT_EQ(at_step(plan.sampling(), 600).sampling_prob, .02);
  expect_error([&] { plan.privatizer(random::key(0)); }, "take scaled_privatizer");
  options.normalize_by = 7;
  EXPECT_EQ(make_plan(options).update_factor(600), 1);
}

TEST(PlanTest, CalibratedNoiseScalesTheSchedule) {
  PlanOptions options = dpsgd();
  options.noise_multiplier.reset();
  options.epsilon = 2;
  options.noise_schedule = {{0, 2}, {500, 1}};
  const Plan plan = make_plan(options);
  EXPECT_LE(plan.epsilon(), 2);
  EXPECT_GT(plan.epsilon(), 1.9999);
  EXPECT_LT(plan.epsilon(500), plan.epsilon() / 2);
  options.noise_schedule = 2;  // all of it: half the multiplier, the same noise
  const Plan twice = make_plan(options);
  options.noise_schedule = 1;
  EXPECT_NEAR(twice.stddev(0), make_plan(options).stddev(), 1e-8);
}

// Groups of a cycle are in other steps of a round: the worst of them counts.
TEST(PlanTest, SchedulesOfCycles) {
  PlanOptions options = banded();  // rounds of 4 of 100 steps
  options.epsilon.reset();
  options.noise_multiplier = 2;
  options.noise_schedule = {{0, 1.5}, {42, 1}};
  options.batch_size_schedule = {{0, 1}, {80, .5}};
  const auto rounds_of = [](double p, double sigma, int64_t count) {
    return accounting::dpsgd_event(sigma, count, {.sampling_prob = p});
  };
  EXPECT_EQ(make_plan(options).event(99),
            accounting::DpEvent(accounting::ComposedDpEvent{
                {rounds_of(.4, 3, 10), rounds_of(.4, 2, 10), rounds_of(.2, 2, 5)}}));
}

TEST(PlanTest, SchedulesWithoutAmplification) {
  PlanOptions options = of_sampler(
      batch_selection::BallsInBinsSampling{.num_examples = 64, .iterations = 6, .cycle_length = 2});
  options.amplified = false;
  options.noise_schedule = {{0, 1}, {2, .5}, {3, 1}};
  const Plan plan = make_plan(options);
  // Steps 0, 2 and 4: 1 + 4 + 1.
  EXPECT_DOUBLE_EQ(plan.sensitivity() / plan.clipped_norm(), std::sqrt(6));
  EXPECT_NEAR(plan.epsilon(),
              make_plan([&] {
                PlanOptions dense = options;
                dense.strategy = DenseNoise{matrix_factorization::Matrix::identity(6)};
                return dense;
              }())
                  .epsilon(),
              1e-9);
  options.sampler = batch_selection::RandomAllocationSampling{
      .num_examples = 64, .iterations = 6, .steps_per_example = 2};
  EXPECT_DOUBLE_EQ(make_plan(options).sensitivity() / make_plan(options).clipped_norm(),
                   std::sqrt(5));
  options.strategy = BandedNoise{.bands = 2};
  expect_error([&] { make_plan(options); }, "take DenseNoise");
}

// A sampler without noise of samples is dominated by one with: what the whole bins show.
PlanOptions in_bins(int64_t iterations) {
  PlanOptions options = of_sampler(batch_selection::BallsInBinsSampling{
      .num_examples = 64, .iterations = iterations, .cycle_length = 4});
  options.accountant = Accountant::kMonteCarlo;
  options.delta = .01;
  options.noise_multiplier = 1;
  options.monte_carlo_samples = 20'000;
  options.monte_carlo_seed = 0;
  return options;
}

TEST(PlanTest, SamplesProveEpsilons) {
  // One bin is one Gaussian mechanism, whose delta is known.
  PlanOptions one = in_bins(1);
  one.sampler =
      batch_selection::BallsInBinsSampling{.num_examples = 64, .iterations = 1, .cycle_length = 1};
  const double exact = accounting::get_epsilon_gaussian(1, .01);
  EXPECT_GT(make_plan(one).epsilon(), exact);
  EXPECT_LT(make_plan(one).epsilon(), 1.15 * exact);

  // Amplified: less than without, and the same law as an allocation to one of four steps.
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
  // 16 rounds of noise 4 are one of 1, up to those of the last round.
  PlanOptions rounds = in_bins(62);
  rounds.noise_multiplier = 4;
  EXPECT_EQ(make_plan(rounds).epsilon(), bins.epsilon());
  EXPECT_LT(make_plan(rounds).epsilon(20), bins.epsilon());
  EXPECT_EQ(make_plan(rounds).epsilon(0), 0);
  expect_error([&] { bins.event(1); }, "which has no events");
  rounds.strategy = BandedNoise{.bands = 2};
  EXPECT_LT(make_plan(rounds).epsilon(), 2 * bins.epsilon());
}

// A PLD counts as if everybody knew an example's group; samples do not.
TEST(PlanTest, SamplesOfIndependentGroupsSayLessThanTheGroupKnown) {
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

// Samples of one Gaussian mechanism beside another one: two, of which epsilon is known.
TEST(PlanTest, OtherReleasesCountWithSamples) {
  PlanOptions one = in_bins(1);
  one.sampler =
      batch_selection::BallsInBinsSampling{.num_examples = 64, .iterations = 1, .cycle_length = 1};
  one.other_releases = accounting::GaussianDpEvent{1};
  const double exact = accounting::get_epsilon_gaussian(1 / std::sqrt(2), .01);
  const Plan plan = make_plan(one);
  EXPECT_GT(plan.epsilon(), exact);
  EXPECT_LT(plan.epsilon(), 1.15 * exact);
  EXPECT_NEAR(plan.epsilon(0), accounting::get_epsilon_gaussian(1, .01), 1e-9);
  // Little beside it changes little; it counts in the noise that is found.
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

TEST(PlanTest, OtherReleasesThatDoNotFitAreErrors) {
  PlanOptions options = dpsgd();
  options.other_releases = accounting::ZCDpEvent{.rho = .1};
  expect_error([&] { make_plan(options); },
               "expected other_releases that the accountant supports under");
  options.other_releases = accounting::GaussianDpEvent{1};
  options.noise_multiplier.reset(), options.epsilon = 3;
  expect_error([&] { make_plan(options); }, "which other_releases spend by themselves, got 3");
}

TEST(PlanTest, NoiseFoundBySamplesIsProvedByOthers) {
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

TEST(PlanTest, WhatSamplesDoNotProve) {
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

TEST(PlanTest, UsersOfSeveralExamples) {
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

  // Without amplification they move the sums of all their steps by three times as much.
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

// Users are the examples of a plan where a row of the data is a user.
TEST(PlanTest, SelectedUsersAreExamples) {
  const batch_selection::UserSelectionStrategy users{
      .base_strategy =
          batch_selection::CyclicPoissonSampling{
              .num_examples = 1000, .sampling_prob = .1, .iterations = 50},
      .examples_per_user_per_batch = 4};
  const Plan plan = make_plan(of_sampler(users.base_strategy));
  plan.check_sampler(users.description());
  EXPECT_EQ(plan.expected_batch_size(), 100);
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

TEST(PlanTest, RelationsThatThePartitionDoesNotFit) {
  const batch_selection::CyclicPoissonSampling equal{
      .num_examples = 64, .sampling_prob = .1, .iterations = 12, .cycle_length = 2};
  expect_error([&] { make_plan(of_sampler(equal)); }, "with PartitionType::kIndependent");
  expect_refused([](PlanOptions& o) { o.truncated_batch_size = 150; },
                 "without truncated_batch_size");
}

// The same sampler and clip norm as the Gaussian plan; noise in whole steps, and of 65536 steps the
// accounting differs by 4 / 65536^2.
TEST(PlanTest, DiscreteGaussian) {
  PlanOptions options{.num_examples = 1000,
                      .steps = 100,
                      .expected_batch_size = 50,
                      .noise_multiplier = 1.5,
                      .delta = 1e-5,
                      .l2_clip_norm = 2};
  const Plan gaussian = make_plan(options);
  options.mechanism = DiscreteGaussian{};
  const Plan plan = make_plan(options);
  EXPECT_EQ(plan.clip_options().grid_scale, 65536);
  EXPECT_EQ(plan.clip_options().normalize_by, 1);
  EXPECT_EQ(gaussian.clip_options().grid_scale, std::nullopt);
  EXPECT_EQ(plan.stddev(), 1.5 * 2 / 50);
  EXPECT_EQ(plan.sensitivity(), 2.0 / 50);
  EXPECT_GE(plan.epsilon(), gaussian.epsilon());
  EXPECT_NEAR(plan.epsilon(), gaussian.epsilon(), 1e-6 * gaussian.epsilon());
  EXPECT_NE(plan.fingerprint(), gaussian.fingerprint());
  // Sums of whole steps: granularity 2 / 50 / 65536, noise of 1.5 * 65536 steps.
  const auto noise = plan.privatizer(random::key(1));
  const Array sum = zeros({100'000}, int32);
  const std::vector<float> noisy = to_vector<float>(noise.update(sum, noise.init(sum)).first);
  const double granularity = 2.0 / 50 / 65536;
  double squares = 0;
  for (const double x : noisy) {
    EXPECT_NEAR(x / granularity, std::round(x / granularity), 0.05);  // float32 has 24 bits of 20
    squares += x * x;
  }
  EXPECT_NEAR(std::sqrt(squares / 1e5) / plan.stddev(), 1, 0.01);
  const Array more = sum + 65536;  // one clip norm
  const auto moved = to_vector<float>(noise.update(more, noise.init(more)).first);
  EXPECT_NEAR(moved[0] - noisy[0], 2.0 / 50, 1e-6);
}

// On a coarse grid the smoothing shows: s = 8 steps count as sqrt(60).
TEST(PlanTest, DiscreteGaussianOfACoarseGrid) {
  PlanOptions options{.num_examples = 1000,
                      .steps = 100,
                      .expected_batch_size = 50,
                      .noise_multiplier = 0.5,
                      .delta = 1e-5,
                      .mechanism = DiscreteGaussian{.grid_scale = 16}};
  const Plan plan = make_plan(options);
  options.mechanism = Gaussian{};
  options.noise_multiplier = std::sqrt(60.0) / 16;
  EXPECT_NEAR(plan.epsilon(), make_plan(options).epsilon(), 1e-9);
  // Not amplified, an example that takes part 100 times: the noise is of ten times as many steps.
  options.amplified = false;
  options.noise_multiplier = 1;
  options.mechanism = DiscreteGaussian{.grid_scale = 16};
  const double steps = 16 * 10;
  const Plan whole = make_plan(options);
  options.mechanism = Gaussian{};
  options.noise_multiplier = std::sqrt(steps * steps - 4) / steps;
  EXPECT_NEAR(whole.epsilon(), make_plan(options).epsilon(), 1e-9);
}

// What is calibrated reaches the epsilon, by every accountant.
TEST(PlanTest, DiscreteGaussianCalibrates) {
  PlanOptions options{.num_examples = 1000,
                      .steps = 100,
                      .expected_batch_size = 50,
                      .epsilon = 2,
                      .delta = 1e-5,
                      .mechanism = DiscreteGaussian{.grid_scale = 32}};
  for (const Accountant accountant : {Accountant::kPld, Accountant::kRdp}) {
    options.accountant = accountant;
    EXPECT_LE(make_plan(options).epsilon(), 2);
    EXPECT_GT(make_plan(options).epsilon(), 1.99);
  }
  PlanOptions sampled = of_sampler(batch_selection::BallsInBinsSampling{
      .num_examples = 100, .iterations = 20, .cycle_length = 10});
  sampled.accountant = Accountant::kMonteCarlo;
  sampled.delta = 1e-3;
  sampled.monte_carlo_seed = 1;  // the same samples for both
  const Plan float_noise = make_plan(sampled);
  sampled.mechanism = DiscreteGaussian{.grid_scale = 32};
  EXPECT_GE(make_plan(sampled).epsilon(), float_noise.epsilon());
}

TEST(PlanTest, DiscreteGaussianRefuses) {
  const auto refused = [](auto change, const char* text) {
    expect_refused(
        [&](PlanOptions& o) {
          o.mechanism = DiscreteGaussian{};
          change(o);
        },
        text);
  };
  refused([](PlanOptions& o) { o.strategy = BufferedNoise{}; }, "not BufferedNoise,");
  refused(
      [](PlanOptions& o) { o.strategy = DenseNoise{matrix_factorization::Matrix::identity(1000)}; },
      "not DenseNoise,");
  refused([](PlanOptions& o) { o.strategy = BandedInverseNoise{.bands = 2}; },
          "not BandedInverseNoise,");
  refused([](PlanOptions& o) { o.rescale_to_unit_norm = true; },
          "expected no rescale_to_unit_norm");
  for (const int64_t scale : {int64_t{0}, int64_t{15}, (int64_t{1} << 24) + 1})
    refused([&](PlanOptions& o) { o.mechanism = DiscreteGaussian{.grid_scale = scale}; },
            "expected a grid_scale in [16, 2^24]");
  refused(
      [](PlanOptions& o) {
        o.epsilon = std::nullopt;
        o.noise_multiplier = 0;
      },
      "expected noise of at least 8 steps of the grid, got 0");
  refused(
      [](PlanOptions& o) {
        o.epsilon = std::nullopt;
        o.noise_multiplier = 1000;
      },
      "expected noise of at most 2^24 steps of the grid");
}

TEST(PlanTest, RandomnessOfTheSystem) {
  PlanOptions options{.num_examples = 1000,
                      .steps = 100,
                      .expected_batch_size = 50,
                      .noise_multiplier = 1.5,
                      .delta = 1e-5,
                      .random_source = RandomSource::kSystem};
  const Plan plan = make_plan(options);
  const Array sum = zeros({8});
  const auto noise = plan.privatizer();
  EXPECT_NE(noise.update(sum, noise.init(sum)).first.to_host(),
            noise.update(sum, noise.init(sum)).first.to_host());
  expect_error([&] { plan.privatizer(random::key(0)); },
               "expected no key with RandomSource::kSystem");
  options.random_source = RandomSource::kKey;
  EXPECT_NE(plan.fingerprint(), make_plan(options).fingerprint());
  options.random_source = RandomSource::kSystem;
  options.amplified = false;
  options.strategy = DenseNoise{matrix_factorization::Matrix::identity(100)};
  expect_error([&] { make_plan(options); },
               "expected a strategy other than DenseNoise for RandomSource::kSystem");
}

TEST(PlanTest, FactorisationsThatDoNotFit) {
  expect_refused(
      [](PlanOptions& o) {
        o.amplified = false;
        o.strategy = DenseNoise{matrix_factorization::Matrix::identity(999)};
      },
      "expected a factorisation of at least 1000 rows, one a step, got 999");
  expect_refused([](PlanOptions& o) { o.strategy = BufferedNoise{}; },
                 "expected independent or banded noise in an amplified plan");
  PlanOptions options = of_sampler(batch_selection::CyclicPoissonSampling{
      .num_examples = 64, .sampling_prob = .1, .iterations = 2});
  options.strategy = BandedNoise{.bands = 2};
  expect_error([&] { make_plan(options); }, "expected at most 1 bands, the cycle");
  options.strategy = BandedNoise{.bands = 3};
  expect_error([&] { make_plan(options); }, "expected between 1 and 2 bands");
  options.strategy = BandedNoise{.strategy = {0, 1}};
  expect_error([&] { make_plan(options); }, "first coefficient other than 0");
  options.strategy = BandedNoise{.strategy = {1, kNan}};
  expect_error([&] { make_plan(options); }, "a strategy of finite numbers");
  options.amplified = false;
  options.strategy = DenseNoise{{2, 2, {1, 1, 0, 1}}};
  expect_error([&] { make_plan(options); }, "expected a lower-triangular strategy");
  options.strategy = DenseNoise{{2, 3, {1, 0, 0, 1, 0, 0}}};
  expect_error([&] { make_plan(options); }, "expected a square strategy");
}

}  // namespace
}  // namespace tessera::privacy
