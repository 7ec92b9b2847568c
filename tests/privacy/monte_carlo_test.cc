#include "tessera/privacy/accounting/monte_carlo.h"

#include <cmath>

#include "../golden/golden.h"
#include "tessera/base/error.h"
#include "tessera/privacy/accounting/delta_calculation.h"
#include "tessera/privacy/accounting/pld.h"

namespace tessera::privacy::accounting::monte_carlo_test {
namespace {

SelectionLaw law_of(const std::string& name) {
  if (name == "balls") return BallsInBinsLaw{10, 4};
  if (name == "balls_long") return BallsInBinsLaw{7, 2};
  BMinSepLaw law{.sampling_prob = 0.3, .iterations = 9, .min_sep = 3};
  law.warm_start = name != "b_min_sep_cold";
  if (name == "b_min_sep_truncated") law.truncated_batch_size = 4, law.dataset_size = 20;
  return law;
}

TEST(MonteCarlo, LossesOfGivenOutputsAreJaxPrivacys) {
  const golden::Topic topic("accounting");
  for (const golden::Json& c : topic["losses"]) {
    const std::vector<double> c_col = c["c_col"];
    const MonteCarloSample sample{c["output"], c["rest"]};
    const double expected = c["loss"];
    EXPECT_NEAR(compute_privacy_loss(law_of(c["law"]), sample, c["sigma"], c_col), expected,
                1e-9 * std::max(1.0, std::abs(expected)))
        << c.dump();
  }
}

// Expects that the mean of exp(-loss) over samples is 1. The likelihood ratio of the run with the
// example has the mean 1 under the run without it, and its inverse has the mean 1 under the run
// with it, if the sampler and the loss are of the same two laws.
void expect_ratio_of_mean_one(const SelectionLaw& law, const std::vector<double>& c_col) {
  constexpr int64_t kSamples = 30000;
  for (const bool positive : {true, false}) {
    const std::vector<double> losses = privacy_loss_samples(
        law, kSamples,
        {.noise_multiplier = 2, .c_col = c_col, .seed = 7, .positive_sample = positive});
    double mean = 0, square = 0;
    for (double loss : losses)
      mean += std::exp(-loss) / kSamples, square += std::exp(-2 * loss) / kSamples;
    const double error = std::sqrt((square - mean * mean) / kSamples);
    EXPECT_NEAR(mean, 1, 5 * error + 1e-12) << positive;
  }
}

TEST(MonteCarlo, LossesOfCyclicPoissonAreJaxPrivacys) {
  const golden::Topic topic("privacy_head");
  for (const golden::Json& c : topic["cyclic_poisson"]) {
    const std::vector<double> column = c["column"];
    const CyclicPoissonLaw law{.sampling_prob = c["sampling_prob"],
                               .iterations = c["iterations"],
                               .cycle_length = c["cycle_length"]};
    EXPECT_NEAR(compute_privacy_loss(law, {c["output"], {}}, c["sigma"], column),
                c["loss"].get<double>(), 1e-9)
        << c.dump();
  }
}

TEST(MonteCarlo, SamplersAndLossesAgree) {
  const std::vector<double> one{1}, three{0.8, 0.5, 0.3};
  expect_ratio_of_mean_one(BallsInBinsLaw{10, 4}, three);
  expect_ratio_of_mean_one(BallsInBinsLaw{3, 5}, three);
  for (const bool warm : {true, false}) {
    expect_ratio_of_mean_one(
        BMinSepLaw{.sampling_prob = 0.3, .iterations = 9, .min_sep = 3, .warm_start = warm}, three);
    expect_ratio_of_mean_one(BMinSepLaw{.sampling_prob = 0.3,
                                        .iterations = 6,
                                        .min_sep = 3,
                                        .warm_start = warm,
                                        .truncated_batch_size = 2,
                                        .dataset_size = 15},
                             three);
  }
  expect_ratio_of_mean_one(BMinSepLaw{.sampling_prob = 1, .iterations = 5, .min_sep = 2}, one);
  expect_ratio_of_mean_one(RandomAllocationLaw{8, 3}, one);
  expect_ratio_of_mean_one(CyclicPoissonLaw{0.4, 9, 3}, three);
  expect_ratio_of_mean_one(CyclicPoissonLaw{1, 5, 2}, one);
  expect_ratio_of_mean_one(RandomAllocationLaw{4, 4}, one);
}

// b-min-sep with a separation of 1 is Poisson sampling, and one ball in one bin is the Gaussian
// mechanism. The distributions of both are known.
TEST(MonteCarlo, KnownLawsAreFound) {
  constexpr int64_t kSamples = 50000;
  const auto expect_delta = [](const SelectionLaw& law, const DpEvent& event, int64_t count,
                               double epsilon) {
    const std::vector<double> losses =
        privacy_loss_samples(law, kSamples, {.noise_multiplier = 1, .seed = 0});
    const double exact = PldAccountant().compose(event, count).get_delta(epsilon);
    EXPECT_NEAR(delta_from_epsilon_and_samples(epsilon, losses), exact,
                4 * std::sqrt(exact / kSamples));
  };
  expect_delta(BMinSepLaw{.sampling_prob = 0.2, .iterations = 10, .min_sep = 1},
               PoissonSampledDpEvent{0.2, GaussianDpEvent{1}}, 10, 1);
  expect_delta(BallsInBinsLaw{1, 1}, GaussianDpEvent{1}, 1, 0.5);
  expect_delta(RandomAllocationLaw{3, 3}, GaussianDpEvent{1}, 3, 1);
  expect_delta(CyclicPoissonLaw{0.2, 10}, PoissonSampledDpEvent{0.2, GaussianDpEvent{1}}, 10, 1);
}

TEST(MonteCarlo, RandomAllocationOfOneIsOneBall) {
  const MonteCarloSample sample{{0.3, -1, 2, 0.7}, {}};
  const std::vector<double> one{1};
  EXPECT_NEAR(compute_privacy_loss(RandomAllocationLaw{4, 1}, sample, 1.5, one),
              compute_privacy_loss(BallsInBinsLaw{4, 4}, sample, 1.5, one), 1e-12);
}

// With probability 1, cyclic Poisson sampling is a ball in one of the bins. With one step and a
// cycle as long as the run, it is one Poisson sample of a probability that is smaller by the length
// of the cycle.
TEST(MonteCarlo, CyclicPoissonHasKnownEnds) {
  const MonteCarloSample sample{{0.3, -1, 2, 0.7, 0.1}, {}};
  const std::vector<double> two{0.8, 0.6};
  EXPECT_NEAR(compute_privacy_loss(CyclicPoissonLaw{1, 5, 2}, sample, 1.5, two),
              compute_privacy_loss(BallsInBinsLaw{5, 2}, sample, 1.5, two), 1e-12);
  const std::vector<double> one{1};
  EXPECT_NEAR(compute_privacy_loss(CyclicPoissonLaw{0.6, 1, 4}, {{0.9}, {}}, 1.5, one),
              compute_privacy_loss(CyclicPoissonLaw{0.15, 1}, {{0.9}, {}}, 1.5, one), 1e-12);
}

TEST(MonteCarlo, SeedsDecide) {
  const MonteCarloOptions options{.noise_multiplier = 1, .seed = 3};
  const BallsInBinsLaw law{6, 3};
  EXPECT_EQ(privacy_loss_samples(law, 10, options), privacy_loss_samples(law, 10, options));
  EXPECT_NE(privacy_loss_samples(law, 10, options),
            privacy_loss_samples(law, 10, {.noise_multiplier = 1, .seed = 4}));
  const MonteCarloOptions drawn{.noise_multiplier = 1};  // a new seed each time
  EXPECT_NE(privacy_loss_samples(law, 10, drawn), privacy_loss_samples(law, 10, drawn));
  const std::vector<MonteCarloSample> samples = generate_samples(law, 10, options);
  const std::vector<double> one{1};
  EXPECT_DOUBLE_EQ(compute_privacy_loss(law, samples[9], 1, one),
                   privacy_loss_samples(law, 10, options)[9]);
}

TEST(MonteCarlo, BadLawsAreRefused) {
  const auto refused = [](const SelectionLaw& law, const std::vector<double>& c_col = {1},
                          double noise = 1) {
    EXPECT_THROW(generate_samples(law, 1, {.noise_multiplier = noise, .c_col = c_col}), UserError);
  };
  const BallsInBinsLaw good{4, 2};
  refused(good, {1}, 0);
  refused(good, {1}, std::nan(""));
  refused(good, {});
  refused(good, {1, -1});
  refused(BallsInBinsLaw{0, 2});
  refused(BallsInBinsLaw{4, 0});
  refused(BMinSepLaw{.sampling_prob = 0, .iterations = 4, .min_sep = 2});
  refused(BMinSepLaw{.sampling_prob = 0.5, .iterations = 4, .min_sep = 0});
  refused(BMinSepLaw{.sampling_prob = 0.5, .iterations = 4, .min_sep = 2}, {1, 1, 1});
  refused(
      BMinSepLaw{.sampling_prob = 0.5, .iterations = 4, .min_sep = 2, .truncated_batch_size = 0});
  refused(
      BMinSepLaw{.sampling_prob = 0.5, .iterations = 4, .min_sep = 2, .truncated_batch_size = 3});
  refused(RandomAllocationLaw{4, 5});
  refused(CyclicPoissonLaw{0, 4, 2});
  refused(CyclicPoissonLaw{0.5, 4, 0});
  refused(CyclicPoissonLaw{0.5, 0, 2});
  refused(CyclicPoissonLaw{0.5, 4, 2}, {1, 1, 1});
  refused(RandomAllocationLaw{4, 1}, {1, 1});
  const std::vector<double> one{1};
  EXPECT_THROW(compute_privacy_loss(good, {{1, 2, 3}, {}}, 1, one), UserError);
  EXPECT_THROW(compute_privacy_loss(good, {{1, 2, 3, 4}, {1, 1, 1, 1}}, 1, one), UserError);
}

}  // namespace
}  // namespace tessera::privacy::accounting::monte_carlo_test
