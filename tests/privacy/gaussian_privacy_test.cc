#include "tessera/privacy/auditing/gaussian_privacy.h"

#include <cmath>

namespace tessera::privacy::auditing::internal::gaussian_privacy_test {
namespace {

TEST(GaussianPrivacy, NormalDistribution) {
  EXPECT_DOUBLE_EQ(normal_cdf(0), 0.5);
  EXPECT_NEAR(normal_cdf(-10) / 7.619853024160526e-24, 1, 1e-12);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_EQ(normal_quantile(0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(normal_quantile(1), std::numeric_limits<double>::infinity());
}

// reference/privacy.md: epsilon(1, 1e-5) = 4.377178095681137, sigma(1, 1e-5) = 3.7306316348159374.
TEST(GaussianPrivacy, HasTheValuesOfTheReference) {
  EXPECT_NEAR(epsilon_of(1, 1e-5) / 4.377178095681137, 1, 1e-11);
  EXPECT_NEAR(1 / mu_of(1, 1e-5) / 3.7306316348159374, 1, 1e-11);
}

TEST(GaussianPrivacy, InversesAgree) {
  for (const double epsilon : {0.0, 1e-3, 0.5, 8.0, 200.0})
    for (const double delta : {1e-12, 1e-5, 0.2, 0.9}) {
      const double mu = mu_of(epsilon, delta);
      EXPECT_NEAR(log_delta(epsilon, mu), std::log(delta), 1e-9 + 4e-16 / delta)
          << epsilon << " " << delta;
      EXPECT_NEAR(epsilon_of(mu, delta), epsilon, 1e-9 * (1 + epsilon));
    }
  EXPECT_EQ(epsilon_of(0.1, 0.5), 0);
}

// The values are dp_accounting's, on both sides of the point where the normal distribution's tail
// becomes a series.
TEST(GaussianPrivacy, TailsAreNotLost) {
  const std::pair<double, double> cases[] = {
      {28.0, -385.7118410278374}, {29.4, -425.2890977535461}, {29.6, -431.10261459018176},
      {30.4, -454.7557892094464}, {30.6, -460.7688655035842}, {100.0, -4960.254553817305}};
  for (const auto& [epsilon, expected] : cases)
    EXPECT_NEAR(log_delta(epsilon, 1) / expected, 1, 1e-12) << epsilon;
}

}  // namespace
}  // namespace tessera::privacy::auditing::internal::gaussian_privacy_test
