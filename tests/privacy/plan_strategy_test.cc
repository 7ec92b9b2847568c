#include "tessera/privacy/plan_strategy.h"

#include <cmath>

#include "plan_options.h"
#include "tessera/numpy/creation.h"
#include "tessera/privacy/matrix_factorization/banded_inverse.h"
#include "tessera/privacy/plan_rmse.h"

namespace tessera::privacy::plan_strategy_test {
namespace {

namespace mf = matrix_factorization;
using namespace plan_options;

// Returns a plan of ten epochs of six steps each.
PlanOptions in_epochs() {
  return {.sampler =
              batch_selection::CyclicPoissonSampling{
                  .num_examples = 600, .sampling_prob = .5, .iterations = 60, .cycle_length = 6},
          .noise_multiplier = 1,
          .delta = 1e-5,
          .relation = NeighboringRelation::kReplaceSpecial,
          .amplified = false,
          .mechanism = Gaussian{}};
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
  // The plan is that of dense noise with the same strategy.
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
  // Another workload has another optimum.
  const mf::toeplitz::Coefs momentum = mf::toeplitz::sgd_workload_coefs(60, {.momentum = .9});
  options.strategy = BandedInverseNoise{.bands = 3, .workload = momentum};
  const Plan of_momentum = make_plan(options);
  EXPECT_GT(rmse(of_momentum), rmse(best));
  EXPECT_NE(of_momentum.fingerprint(), best.fingerprint());
}

// The buffers keep the noise of the steps before: the second step mixes it in.
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
  // The noise of the steps cancels: their sum has the noise of one draw.
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

TEST(PlanStrategy, BandedNoiseOfJaxPrivacysPlan) {
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

TEST(PlanStrategy, BufferedNoiseIsForTheSamplersSeparations) {
  PlanOptions options = of_sampler(batch_selection::BallsInBinsSampling{
      .num_examples = 64, .iterations = 40, .cycle_length = 10});
  options.amplified = false;
  options.strategy = BufferedNoise{};
  const Plan plan = make_plan(options);
  const std::vector<double> noise = plan.noising_matrix().row_norms_squared(40);
  EXPECT_GT(noise[39], 1);  // correlated: more noise in a gradient, less in sums
  double last = 0;
  for (int64_t steps : {1, 11, 40}) {
    EXPECT_GT(plan.epsilon(steps), last);
    last = plan.epsilon(steps);
  }
}

TEST(PlanStrategy, DenseNoiseIsOfTheInverse) {
  PlanOptions options = of_sampler(
      batch_selection::BallsInBinsSampling{.num_examples = 64, .iterations = 2, .cycle_length = 2});
  options.amplified = false;
  options.normalize_by = 1;
  options.strategy = DenseNoise{{3, 3, {2, 0, 0, 1, 4, 0, 9, 9, 9}}};  // one row too many
  const Plan plan = make_plan(options);
  EXPECT_EQ(plan.noising_matrix().materialize(2), (std::vector<double>{.5, 0, -.125, .25}));
  EXPECT_DOUBLE_EQ(plan.sensitivity(), 4 * rounded(plan));  // that of the second column
}

TEST(PlanStrategy, FactorisationsThatDoNotFit) {
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
}  // namespace tessera::privacy::plan_strategy_test
