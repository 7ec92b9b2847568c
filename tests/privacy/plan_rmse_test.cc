#include "tessera/privacy/plan_rmse.h"

#include <cmath>

#include "../golden/golden.h"
#include "tessera/privacy/matrix_factorization/toeplitz.h"

namespace tessera::privacy::plan_rmse_test {
namespace {

namespace mf = matrix_factorization;

PlanOptions options(int64_t steps) {
  return {.num_examples = 1000,
          .steps = steps,
          .expected_batch_size = 50,
          .noise_multiplier = 2,
          .delta = 1e-5,
          .mechanism = Gaussian{}};
}

// The error is jax_privacy's times the norm of the strategy, which jax_privacy leaves out.
TEST(PlanRmse, IsJaxPrivacysTimesTheNorm) {
  const golden::Topic topic("privacy_head");
  for (const golden::Json& c : topic["rmse"]) {
    const std::vector<double> strategy = c["strategy"];
    const double participations = c["expected_participations"],
                 steps = c["iterations"].get<double>();
    PlanOptions o{.num_examples = 12'000,
                  .steps = c["iterations"],
                  .expected_batch_size = 12'000 * participations / steps,
                  .noise_multiplier = c["noise_multiplier"],
                  .delta = 1e-5,
                  .mechanism = Gaussian{}};
    o.strategy = BandedNoise{.strategy = strategy};
    const double norm = std::sqrt(mf::toeplitz::sensitivity_squared(strategy));
    EXPECT_NEAR(rmse(make_plan(o)), c["rmse"].get<double>() * norm, 1e-9);
  }
}

// The error depends neither on the scale of the strategy nor on the clip norm, and dense noise of
// the same strategy has the same error. Without amplification the sensitivity is that of all
// participations.
TEST(PlanRmse, IsOfTheMechanism) {
  PlanOptions o = options(12);
  o.strategy = BandedNoise{.strategy = {1, .5, .25}};
  const double error = rmse(make_plan(o));
  o.strategy = BandedNoise{.strategy = {2, 1, .5}}, o.l2_clip_norm = 7;
  EXPECT_NEAR(rmse(make_plan(o)), error, 1e-12);
  o.amplified = false;
  const double every_third = rmse(make_plan(o));
  EXPECT_NEAR(every_third / error,
              std::sqrt(mf::toeplitz::minsep_sensitivity_squared({1, .5, .25}, {.min_sep = 3}, 12) /
                        mf::toeplitz::sensitivity_squared({1, .5, .25})),
              1e-12);
  PlanOptions dense = options(12);
  dense.amplified = false;
  dense.sampler = make_plan(o).sampler();
  dense.num_examples = dense.steps = 0, dense.expected_batch_size.reset();
  dense.strategy =
      DenseNoise{.strategy = mf::toeplitz::materialize_lower_triangular({1, .5, .25}, 12)};
  EXPECT_NEAR(rmse(make_plan(dense)), every_third, 1e-9);
}

// Independent noise has the deviations sigma_t: the sum up to step i has the variance of all steps
// up to it.
TEST(PlanRmse, HasTheSchedules) {
  PlanOptions o = options(4);
  o.noise_schedule = {{0, 1}, {2, 3}};
  o.batch_size_schedule = {{0, 1}, {1, 2}};
  const double a = 1, b = 1 / 4.0, c = 9 / 4.0;  // squared noise over batch size
  const double mean = (a + (a + b) + (a + b + c) + (a + b + 2 * c)) / 4;
  EXPECT_NEAR(rmse(make_plan(o)), 2 * std::sqrt(mean) / (7 * .05), 1e-9);
}

// Noise follows the clip norm in the same way as a schedule of its own.
TEST(PlanRmse, HasTheScheduleOfClipNorms) {
  PlanOptions clipped = options(40), noised = options(40);
  clipped.clip_norm_schedule = {{0, 1}, {10, .25}};
  noised.noise_schedule = {{0, 1}, {10, .25}};
  EXPECT_NEAR(rmse(make_plan(clipped)), rmse(make_plan(noised)), 1e-12);
  EXPECT_LT(rmse(make_plan(clipped)), rmse(make_plan(options(40))));
  clipped.rescale_to_unit_norm = true;
  EXPECT_NEAR(rmse(make_plan(clipped)), rmse(make_plan(options(40))), 1e-12);
}

}  // namespace
}  // namespace tessera::privacy::plan_rmse_test
