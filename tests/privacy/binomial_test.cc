#include "tessera/privacy/auditing/binomial.h"

#include <cmath>

namespace tessera::privacy::auditing::internal::binomial_test {
namespace {

TEST(Binomial, BoundsOfClopperAndPearson) {
  EXPECT_EQ(clopper_pearson_upper(7, 7, 0.05), 1);
  EXPECT_EQ(clopper_pearson_upper(0, 0, 0.05), 1);
  EXPECT_EQ(clopper_pearson_lower(0, 7, 0.05), 0);
  // For no success of n, (1 - p)^n = significance.
  EXPECT_NEAR(clopper_pearson_upper(0, 20, 0.05), 1 - std::pow(0.05, 1 / 20.0), 1e-15);
  EXPECT_NEAR(clopper_pearson_lower(20, 20, 0.05), std::pow(0.05, 1 / 20.0), 1e-15);
  for (int64_t k = 0; k <= 50; ++k)
    EXPECT_NEAR(clopper_pearson_lower(k, 50, 0.01), 1 - clopper_pearson_upper(50 - k, 50, 0.01),
                1e-14);
  // A significance so small that 1 - significance rounds to 1 still gives a bound.
  EXPECT_LT(clopper_pearson_upper(3, 1000, 1e-30), 0.2);
}

// Returns P(low <= X < high), added up term by term.
double sum_between(int64_t low, int64_t high, int64_t n, double log_odds) {
  const double p = 1 / (1 + std::exp(-log_odds)), q = 1 / (1 + std::exp(log_odds));
  double sum = 0;
  for (int64_t j = low; j < high; ++j) {
    const auto x = static_cast<double>(j), y = static_cast<double>(n - j);
    sum += std::exp(std::lgamma(x + y + 1) - std::lgamma(x + 1) - std::lgamma(y + 1)) *
           std::pow(p, x) * std::pow(q, y);
  }
  return sum;
}

TEST(Binomial, TailsAreSums) {
  for (const double log_odds : {-2.0, 0.0, 0.4, 3.0}) {
    for (int64_t k = 1; k <= 30; k += 3)
      EXPECT_NEAR(binomial_tail(k, 30, log_odds) / sum_between(k, 31, 30, log_odds), 1, 1e-11) << k;
    EXPECT_EQ(binomial_tail(0, 30, log_odds), 1);
    EXPECT_EQ(binomial_tail(31, 30, log_odds), 0);
  }
  EXPECT_EQ(binomial_tail(0, 0, 1.0), 1);
}

TEST(Binomial, LargestMeansOfProbabilities) {
  for (const double log_odds : {-2.0, 0.0, 0.4, 3.0}) {
    for (int64_t k = 1; k <= 30; k += 3) {
      double best = 0;
      for (int64_t i = 1; i <= k; ++i)
        best = std::max(best, sum_between(k - i, k, 30, log_odds) / static_cast<double>(i));
      EXPECT_NEAR(largest_mean_below(k, 30, log_odds) / best, 1, 1e-9) << k;
    }
  }
  EXPECT_EQ(largest_mean_below(0, 30, 1.0), 0);
}

// The probabilities next to k are far below the smallest double, but those that determine the mean
// are not.
TEST(Binomial, LargestMeansReachTheMode) {
  const int64_t n = 100000, k = 60000;
  const double all = 1.0 / static_cast<double>(k - n / 2);
  EXPECT_NEAR(largest_mean_below(k, n, 0), all, 0.05 * all);
}

}  // namespace
}  // namespace tessera::privacy::auditing::internal::binomial_test
