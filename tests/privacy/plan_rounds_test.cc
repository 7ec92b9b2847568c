// Schedules of noise and batch size.
#include "tessera/privacy/plan_rounds.h"

#include <cmath>

#include "plan_options.h"
#include "tessera/privacy/accounting/events.h"

namespace tessera::privacy::plan_rounds_test {
namespace {

using namespace plan_options;

// The accountant of training has the same schedules.
TEST(PlanRounds, SchedulesOfNoiseAndBatchSize) {
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

TEST(PlanRounds, CalibratedNoiseScalesTheSchedule) {
  PlanOptions options = dpsgd();
  options.noise_multiplier.reset();
  options.epsilon = 2;
  options.noise_schedule = {{0, 2}, {500, 1}};
  const Plan plan = make_plan(options);
  EXPECT_LE(plan.epsilon(), 2);
  EXPECT_GT(plan.epsilon(), 1.9999);
  EXPECT_LT(plan.epsilon(500), plan.epsilon() / 2);
  options.noise_schedule = 2;  // in all steps: half the multiplier, the same noise
  const Plan twice = make_plan(options);
  options.noise_schedule = 1;
  EXPECT_NEAR(twice.stddev(0), make_plan(options).stddev(), 1e-8);
}

// The groups of a cycle are in different steps of a round, and the worst group counts.
TEST(PlanRounds, SchedulesOfCycles) {
  PlanOptions options = banded();  // 100 steps in rounds of 4
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

TEST(PlanRounds, SchedulesWithoutAmplification) {
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

}  // namespace
}  // namespace tessera::privacy::plan_rounds_test
