#include "tessera/privacy/accounting/gaussian_mechanism.h"

#include <cmath>
#include <limits>

#include "../golden/golden.h"
#include "tessera/base/error.h"

namespace tessera::privacy::accounting::gaussian_mechanism_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(GaussianMechanism, IsThatOfTheReference) {
  EXPECT_NEAR(get_epsilon_gaussian(1, 1e-5), 4.377178095681137, 1e-12);
  EXPECT_NEAR(get_sigma_gaussian(1, 1e-5), 3.7306316348159374, 1e-12);
}

TEST(GaussianMechanism, IsDpAccountings) {
  const golden::Topic topic("accounting");
  for (const golden::Json& c : topic["gaussian"]) {
    SCOPED_TRACE(c.dump());
    const double sigma = c["sigma"], delta = c["delta"], epsilon = c["epsilon"];
    EXPECT_NEAR(get_epsilon_gaussian(sigma, delta), epsilon, 1e-9 * epsilon);
    if (epsilon > 0) {
      EXPECT_NEAR(get_sigma_gaussian(epsilon, delta), sigma, 1e-8 * sigma);
    }
    EXPECT_LE(get_delta_gaussian(sigma, get_epsilon_gaussian(sigma, delta)), delta * (1 + 1e-12));
  }
}

// Even if exponents are of the order of 1e12, delta is accurate for epsilon.
TEST(GaussianMechanism, TinyNoiseKeepsItsDigits) {
  const double epsilon = get_epsilon_gaussian(1e-6, 1e-5);
  EXPECT_NEAR(epsilon, 0.5e12 + 4.26489e6, 10);
  EXPECT_NEAR(get_delta_gaussian(1e-6, epsilon), 1e-5, 1e-8);
}

TEST(GaussianMechanism, Extremes) {
  EXPECT_EQ(get_epsilon_gaussian(0, 0.1), kInf);
  EXPECT_EQ(get_epsilon_gaussian(1, 0), kInf);
  EXPECT_EQ(get_epsilon_gaussian(1, 1), 0);
  EXPECT_EQ(get_epsilon_gaussian(kInf, 0), 0);
  EXPECT_EQ(get_epsilon_gaussian(1, 0.5), 0);
  EXPECT_EQ(get_sigma_gaussian(1, 0), kInf);
  EXPECT_EQ(get_sigma_gaussian(kInf, 0.1), 0);
  EXPECT_EQ(get_delta_gaussian(0, 5), 1);
  EXPECT_EQ(get_delta_gaussian(1, kInf), 0);
  EXPECT_EQ(get_delta_gaussian(kInf, 1), 0);
  EXPECT_DOUBLE_EQ(get_delta_gaussian(kInf, -1), 1 - std::exp(-1));
}

TEST(GaussianMechanism, BadNumbersAreRefused) {
  EXPECT_THROW(get_epsilon_gaussian(-1, 0.1), UserError);
  EXPECT_THROW(get_epsilon_gaussian(1, 1.1), UserError);
  EXPECT_THROW(get_sigma_gaussian(-1, 0.1), UserError);
  EXPECT_THROW(get_sigma_gaussian(1, std::nan("")), UserError);
  EXPECT_THROW(get_delta_gaussian(-1, 1), UserError);
  EXPECT_THROW(get_delta_gaussian(1, std::nan("")), UserError);
}

}  // namespace
}  // namespace tessera::privacy::accounting::gaussian_mechanism_test
