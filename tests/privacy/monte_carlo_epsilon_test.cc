#include "tessera/privacy/accounting/monte_carlo_epsilon.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/privacy/accounting/gaussian_mechanism.h"

namespace tessera::privacy::accounting::monte_carlo_epsilon_test {
namespace {

// One ball in one bin is the Gaussian mechanism, whose epsilon is known.
MonteCarloEpsilonOptions options(std::optional<uint64_t> seed) {
  return {.noise_multiplier = 1,
          .delta = 0.01,
          .samples = 4000,
          .failure_probability = 0.05,
          .seed = seed};
}

// Each direction has its own failure probability, so the share of runs below the truth is at most
// twice that.
TEST(MonteCarloEpsilon, IsBelowTheTruthAsRarelyAsItSays) {
  const double exact = get_epsilon_gaussian(1, 0.01);
  constexpr int kRuns = 200;
  int below = 0;
  double mean = 0;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const MonteCarloEpsilon proven = monte_carlo_epsilon(BallsInBinsLaw{1, 1}, options(seed));
    EXPECT_DOUBLE_EQ(proven.confidence, 0.9);
    below += proven.epsilon < exact;
    mean += proven.epsilon / kRuns;
  }
  EXPECT_LE(below, 20);
  EXPECT_LT(mean, 1.15 * exact);
  EXPECT_GT(mean, exact);
}

TEST(MonteCarloEpsilon, SaysWithWhatItWasMade) {
  const MonteCarloEpsilon drawn = monte_carlo_epsilon(BallsInBinsLaw{3, 2}, options({}));
  EXPECT_EQ(drawn.delta, 0.01);
  EXPECT_EQ(drawn.samples, 4000);
  EXPECT_EQ(monte_carlo_epsilon(BallsInBinsLaw{3, 2}, options(drawn.seed)), drawn);
  EXPECT_NE(monte_carlo_epsilon(BallsInBinsLaw{3, 2}, options({})).seed, drawn.seed);
}

// One ball in one bin is a Gaussian mechanism. With another release of this kind there are two.
TEST(MonteCarloEpsilon, CountsWhatElseIsReleased) {
  MonteCarloEpsilonOptions o = options(3);
  o.noise_multiplier = 1, o.delta = .01, o.samples = 50'000;
  const double alone = monte_carlo_epsilon(BallsInBinsLaw{1, 1}, o).epsilon;
  o.other = PldAccountant().compose(GaussianDpEvent{1});
  const double both = get_epsilon_gaussian(1 / std::sqrt(2), .01);
  const double proven = monte_carlo_epsilon(BallsInBinsLaw{1, 1}, o).epsilon;
  EXPECT_GT(proven, both);
  EXPECT_LT(proven, 1.1 * both);
  EXPECT_LT(alone, proven);
  o.other = PldAccountant();
  EXPECT_NEAR(monte_carlo_epsilon(BallsInBinsLaw{1, 1}, o).epsilon, alone, 1e-2);
  o.other = PldAccountant().compose(NonPrivateDpEvent{});
  EXPECT_TRUE(std::isinf(monte_carlo_epsilon(BallsInBinsLaw{1, 1}, o).epsilon));
  o.delta = 0;
  EXPECT_THROW(monte_carlo_epsilon(BallsInBinsLaw{1, 1}, o), UserError);
}

TEST(MonteCarloEpsilon, BadOptionsAreErrors) {
  const auto refused = [](auto change, const char* text) {
    MonteCarloEpsilonOptions o = options(0);
    change(o);
    EXPECT_THAT(
        [&] {
          monte_carlo_epsilon(BallsInBinsLaw{1, 1}, o);
        },
        testing::ThrowsMessage<UserError>(testing::HasSubstr(text)));
  };
  refused([](auto& o) { o.delta = 0; }, "expected a delta in (0, 1), got 0");
  refused([](auto& o) { o.failure_probability = 1; },
          "expected a failure_probability in (0, 1), got 1");
  refused([](auto& o) { o.samples = 100; },
          "expected at least 299 samples to prove a delta of 0.01");
  refused([](auto& o) { o.noise_multiplier = 0; }, "finite noise_multiplier above 0");
}

}  // namespace
}  // namespace tessera::privacy::accounting::monte_carlo_epsilon_test
