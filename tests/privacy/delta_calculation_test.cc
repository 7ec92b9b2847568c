#include "tessera/privacy/accounting/delta_calculation.h"

#include <cmath>
#include <random>

#include "../golden/golden.h"
#include "tessera/base/error.h"

namespace tessera::privacy::accounting::delta_calculation_test {
namespace {

TEST(DeltaCalculation, IsTheMeanOfWhatExceedsEpsilon) {
  const std::vector<double> losses{0, 1, 2}, counts{1, 2, 1};
  const double one = 1 - std::exp(-0.5), two = 1 - std::exp(-1.5);
  EXPECT_DOUBLE_EQ(delta_from_epsilon_and_samples(0.5, losses), (one + two) / 3);
  EXPECT_DOUBLE_EQ(delta_from_epsilon_and_samples(0.5, losses, counts), (2 * one + two) / 4);
}

// Deltas of a composition with a mechanism that a PLD knows. (An accountant's delta is that of the
// worse direction.)
TEST(DeltaCalculation, CompositionsAreJaxPrivacys) {
  const golden::Topic topic("privacy_head");
  const golden::Json& composed = topic["composed"];
  const std::vector<double> losses = composed["losses"];
  for (const golden::Json& c : composed["cases"]) {
    PldAccountant other;
    if (c["event"] == "gaussian") {
      other.compose(GaussianDpEvent{2});
    } else {
      other.compose(PoissonSampledDpEvent{0.1, GaussianDpEvent{1}}, 20);
    }
    std::vector<double> counts;
    if (!c["counts"].is_null()) counts = c["counts"].get<std::vector<double>>();
    EXPECT_NEAR(delta_from_epsilon_and_samples(c["epsilon"], losses, other, counts),
                c["delta"].get<double>(), 1e-7)
        << c.dump();
  }
}

// Loss samples of one Gaussian mechanism, composed with another Gaussian mechanism, give the delta
// of both.
TEST(DeltaCalculation, CompositionsWithNothingAndWithGaussiansAreKnown) {
  const std::vector<double> losses{0.2, 1, -0.5, 3};
  EXPECT_NEAR(delta_from_epsilon_and_samples(0.5, losses, PldAccountant()),
              delta_from_epsilon_and_samples(0.5, losses), 1e-12);
  std::mt19937_64 random(5);
  std::normal_distribution<double> loss(0.5, 1);  // for a noise multiplier of 1
  std::vector<double> drawn(20'000);
  for (double& v : drawn) v = loss(random);
  const double both = PldAccountant().compose(GaussianDpEvent{1}, 2).get_delta(1);
  EXPECT_NEAR(delta_from_epsilon_and_samples(1, drawn, PldAccountant().compose(GaussianDpEvent{1})),
              both, 4 * std::sqrt(both / 20'000));
}

TEST(DeltaCalculation, CalibrationCountsWhatElseIsReleased) {
  std::mt19937_64 random(6);
  std::vector<VerificationSamples> mechanisms;
  for (const double noise : {4.0, 2.0, 1.0}) {
    std::normal_distribution<double> loss(0.5 / (noise * noise), 1 / noise);
    std::vector<double> losses(20'000);
    for (double& v : losses) v = loss(random);
    mechanisms.push_back({.positive = std::move(losses)});
  }
  const size_t alone = perform_calibration_from_samples(3, 1e-2, mechanisms).index;
  for (VerificationSamples& m : mechanisms) m.other = PldAccountant().compose(GaussianDpEvent{1.5});
  const Verification beside = perform_calibration_from_samples(3, 1e-2, mechanisms);
  EXPECT_EQ(alone, 2u);
  EXPECT_TRUE(beside.passes);
  EXPECT_LT(beside.index, alone);
}

// jax_privacy's minimum is that of one local search; this one is not larger.
TEST(DeltaCalculation, OverallDeltasAreJaxPrivacys) {
  const golden::Topic topic("accounting");
  for (const golden::Json& c : topic["overall_delta"]) {
    const double delta = get_overall_delta(c["samples"], c["base"]), expected = c["delta"];
    EXPECT_LE(delta, expected * (1 + 1e-9)) << c.dump();
    EXPECT_GE(delta, expected * 0.999) << c.dump();
  }
}

TEST(DeltaCalculation, BaseAndOverallAreInverse) {
  const double base = get_base_delta(1000000, 1e-4);
  EXPECT_LT(base, 1e-4);
  EXPECT_LE(get_overall_delta(1000000, base), 1e-4);
  EXPECT_NEAR(get_overall_delta(1000000, base), 1e-4, 1e-9);
  const int64_t samples = minimum_samples_to_calibrate(5e-5, 1e-4);
  EXPECT_LE(get_overall_delta(samples, 5e-5), 1e-4);
  EXPECT_GT(get_overall_delta(samples - 1, 5e-5), 1e-4);
}

// A coin with probability 0.011 shows at most 1,000 heads in 100,000 throws with probability 1e-3.
TEST(DeltaCalculation, UpperBoundsHoldWithTheirConfidence) {
  const double bound = delta_upper_bound(0.01, 100000, 1e-3);
  EXPECT_GT(bound, 0.0110);
  EXPECT_LT(bound, 0.0125);
  EXPECT_NEAR(delta_upper_bound(0, 1000, 0.05), -std::expm1(std::log(0.05) / 1000), 1e-12);
  EXPECT_EQ(delta_upper_bound(1, 10, 0.1), 1);
  EXPECT_EQ(delta_upper_bound(0.5, 10, 1), 0.5);
}

// jax_privacy's example: three noise multipliers of the Gaussian mechanism, for epsilon 4 and delta
// 1e-3.
TEST(DeltaCalculation, TheLastMechanismThatPassesIsFound) {
  std::mt19937_64 random(1);
  std::vector<VerificationSamples> mechanisms;
  for (const double noise : {2.0, 1.0, 0.5}) {
    std::normal_distribution<double> loss(0.5 / (noise * noise), 1 / noise);
    mechanisms.emplace_back();
    for (int i = 0; i < 100000; ++i) mechanisms.back().positive.push_back(loss(random));
  }
  const Verification found = perform_calibration_from_samples(4, 1e-3, mechanisms);
  EXPECT_TRUE(found.passes);
  EXPECT_EQ(found.index, 1u);
  mechanisms[1].negative = mechanisms[2].positive;
  EXPECT_EQ(perform_calibration_from_samples(4, 1e-3, mechanisms).index, 0u);
  const Verification none = perform_calibration_from_samples(4, 1e-3, std::vector{mechanisms[2]});
  EXPECT_FALSE(none.passes);
  EXPECT_LT(none.base_delta, 1e-3);
}

TEST(DeltaCalculation, BadNumbersAreRefused) {
  const std::vector<double> losses{1}, none, two{1, 2};
  EXPECT_THROW(delta_from_epsilon_and_samples(-1, losses), UserError);
  EXPECT_THROW(delta_from_epsilon_and_samples(1, none), UserError);
  EXPECT_THROW(delta_from_epsilon_and_samples(1, losses, two), UserError);
  EXPECT_THROW(delta_from_epsilon_and_samples(-1, losses, PldAccountant()), UserError);
  EXPECT_THROW(delta_from_epsilon_and_samples(1, losses, PldAccountant(), two), UserError);
  EXPECT_THROW(delta_upper_bound(2, 10, 0.1), UserError);
  EXPECT_THROW(delta_upper_bound(0.1, 0, 0.1), UserError);
  EXPECT_THROW(delta_upper_bound(0.1, 10, 0), UserError);
  EXPECT_THROW(get_overall_delta(0, 0.1), UserError);
  EXPECT_THROW(get_overall_delta(10, 0), UserError);
  EXPECT_THROW(get_base_delta(10, 1e-6), UserError);
  EXPECT_THROW(minimum_samples_to_calibrate(0.1, 0.1), UserError);
  EXPECT_THROW(minimum_samples_to_calibrate(1e-9, std::nextafter(1e-9, 1)), UserError);
  EXPECT_THROW(perform_calibration_from_samples(1, 0.1, {}), UserError);
}

}  // namespace
}  // namespace tessera::privacy::accounting::delta_calculation_test
