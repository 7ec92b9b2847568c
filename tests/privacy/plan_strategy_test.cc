#include "tessera/privacy/plan_strategy.h"

#include <cmath>

#include "../errors.h"
#include "tessera/numpy/creation.h"
#include "tessera/privacy/matrix_factorization/banded_inverse.h"
#include "tessera/privacy/plan_rmse.h"

namespace tessera::privacy {
namespace {

namespace mf = matrix_factorization;
using tessera::testing::expect_error;

// Ten epochs of six steps.
PlanOptions in_epochs() {
  return {.sampler =
              batch_selection::CyclicPoissonSampling{
                  .num_examples = 600, .sampling_prob = .5, .iterations = 60, .cycle_length = 6},
          .noise_multiplier = 1,
          .delta = 1e-5,
          .relation = NeighboringRelation::kReplaceSpecial,
          .amplified = false};
}
const mf::Participation kEpochs{.min_sep = 6, .max_participations = 10};

TEST(PlanStrategy, BandedInverseNoiseIsThatOfItsCoefficients) {
  PlanOptions options = in_epochs();
  const mf::toeplitz::Coefs noising = {1, -.6, -.1};
  options.strategy = BandedInverseNoise{.noising = noising};
  const Plan plan = make_plan(options);
  EXPECT_NEAR(plan.sensitivity() / plan.clipped_norm(),
              std::sqrt(mf::banded_inverse::minsep_sensitivity_squared(noising, kEpochs, 60)),
              1e-9);
  const std::vector<double> rows = plan.noising_matrix().materialize(4);
  EXPECT_EQ(rows, (std::vector<double>{1, 0, 0, 0, -.6, 1, 0, 0, -.1, -.6, 1, 0, 0, -.1, -.6, 1}));
  EXPECT_NEAR(rmse(plan) * 5, mf::toeplitz::rmse({.noising_coef = noising, .n = 60}, kEpochs),
              1e-9);
  // It is the dense mechanism of the same strategy.
  PlanOptions dense = in_epochs();
  dense.strategy = DenseNoise{
      mf::toeplitz::materialize_lower_triangular(mf::toeplitz::inverse_coef(noising, 60))};
  EXPECT_NEAR(make_plan(dense).epsilon(), plan.epsilon(), .05 * plan.epsilon());
  EXPECT_NE(make_plan(dense).fingerprint(), plan.fingerprint());
}

TEST(PlanStrategy, BandedInverseNoiseIsOptimizedForTheSampler) {
  PlanOptions options = in_epochs();
  options.strategy = BandedInverseNoise{.bands = 3};
  const Plan best = make_plan(options);
  options.strategy = BandedInverseNoise{.noising = mf::banded_inverse::square_root_coefs(3)};
  EXPECT_LT(rmse(best), rmse(make_plan(options)));
  options.strategy = BandedNoise{.bands = 3};
  EXPECT_LT(rmse(best), rmse(make_plan(options)));
  // Of another workload another one.
  const mf::toeplitz::Coefs momentum = mf::toeplitz::sgd_workload_coefs(60, {.momentum = .9});
  options.strategy = BandedInverseNoise{.bands = 3, .workload = momentum};
  const Plan of_momentum = make_plan(options);
  EXPECT_GT(rmse(of_momentum), rmse(best));
  EXPECT_NE(of_momentum.fingerprint(), best.fingerprint());
}

// Two buffers for three bands; the step after the first mixes its noise in.
TEST(PlanStrategy, ItsPrivatizerKeepsTheNoiseOfStepsBefore) {
  PlanOptions options = in_epochs();
  options.strategy = BandedInverseNoise{.noising = {1, -1}};
  const auto privatizer = make_plan(options).privatizer(random::key(0));
  const Array zero = zeros({1000});
  auto state = privatizer.init(zero);
  Array total = zero;
  for (int i = 0; i < 3; ++i) {
    Array noise;
    std::tie(noise, state) = privatizer.update(zero, state);
    total = total + noise;
  }
  // Sums telescope: of three steps the noise of one draw is left.
  const double stddev = make_plan(options).stddev();
  EXPECT_NEAR(std::sqrt(mean(square(total)).item<double>()), stddev, .1 * stddev);
}

TEST(PlanStrategy, WhatBandedInversesAreNot) {
  const auto refused = [](const BandedInverseNoise& noise, const char* text) {
    PlanOptions options = in_epochs();
    options.strategy = noise;
    expect_error([&] { make_plan(options); }, text);
  };
  refused({.bands = 0}, "expected a number of bands between 1 and n = 60, got 0");
  refused({.noising = {1}, .workload = {1}},
          "[privacy::make_plan] expected one of noising and workload in BandedInverseNoise, got "
          "both");
  refused({.workload = {1, 1}}, "expected a workload of n = 60 coefficients, got 2");
  refused({.noising = {0, 1}}, "first coefficient other than 0");
  refused({.noising = {1, std::nan("")}}, "finite numbers, got nan");
  PlanOptions options = in_epochs();
  options.strategy = BandedInverseNoise{};
  options.amplified = true;
  expect_error([&] { make_plan(options); },
               "expected independent or banded noise in an amplified plan, got another");
  options.amplified = false, options.noise_schedule = {{0, 1}, {9, 2}};
  expect_error([&] { make_plan(options); }, "take DenseNoise");
}

TEST(PlanStrategy, InvertsLowerTriangularMatrices) {
  constexpr int64_t kSize = 70;
  mf::Matrix c = mf::Matrix::zeros(kSize, kSize);
  for (int64_t i = 0; i < kSize; ++i)
    for (int64_t j = 0; j <= i; ++j)
      c(i, j) = i == j ? (i % 2 == 0 ? 1 : -2)
                       : std::sin(static_cast<double>(7 * i + j)) / static_cast<double>(i - j + 1);
  const mf::Matrix inverse = internal::inverse_of_lower(c), product = multiply(c, inverse);
  for (int64_t i = 0; i < kSize; ++i)
    for (int64_t j = 0; j < kSize; ++j) {
      EXPECT_NEAR(product(i, j), i == j, 1e-12) << i << " " << j;
      if (j > i) {
        EXPECT_EQ(inverse(i, j), 0);
        EXPECT_FALSE(std::signbit(inverse(i, j))) << i << " " << j;
      }
    }
}

TEST(PlanStrategy, AmplifiableIsWhatIsIndependentAfterACycle) {
  using internal::amplifiable;
  EXPECT_TRUE(amplifiable(IndependentNoise{}));
  EXPECT_TRUE(amplifiable(BandedNoise{}));
  EXPECT_FALSE(amplifiable(BufferedNoise{}));
  EXPECT_FALSE(amplifiable(DenseNoise{}));
  EXPECT_FALSE(amplifiable(BandedInverseNoise{}));
}

}  // namespace
}  // namespace tessera::privacy
