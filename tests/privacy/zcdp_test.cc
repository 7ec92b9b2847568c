#include "tessera/privacy/accounting/zcdp.h"

#include <cmath>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/privacy/accounting/gaussian_mechanism.h"
#include "tessera/privacy/accounting/rdp.h"

namespace tessera::privacy::accounting::zcdp_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Zcdp, OfTheGaussianMechanism) {
  EXPECT_EQ(gaussian_zcdp(0.5), 2);
  EXPECT_EQ(gaussian_zcdp(0), kInf);
  EXPECT_EQ(noise_multiplier_for_zcdp(2), 0.5);
}

TEST(Zcdp, ConversionsAreInverse) {
  for (const double rho : {1e-6, 0.01, 0.5, 10.0, 1e4})
    for (const double delta : {1e-12, 1e-5, 0.1}) {
      const double epsilon = zcdp_to_epsilon(rho, delta);
      if (epsilon == 0) continue;
      EXPECT_NEAR(zcdp_to_delta(rho, epsilon), delta, 1e-8 * delta) << rho;
      EXPECT_NEAR(zcdp_from_epsilon(epsilon, delta), rho, 1e-9 * rho) << rho;
    }
}

// The conversion minimises over all real orders: it is not larger than over a list of orders, and
// not smaller than the mechanism's epsilon.
TEST(Zcdp, LiesBetweenTheMechanismAndRdp) {
  const double zcdp = zcdp_to_epsilon(gaussian_zcdp(1), 1e-5);
  EXPECT_LE(zcdp, RdpAccountant().compose(GaussianDpEvent{1}).get_epsilon(1e-5));
  EXPECT_GE(zcdp, get_epsilon_gaussian(1, 1e-5));
  EXPECT_NEAR(zcdp, 4.72838698494331, 1e-9);
}

TEST(Zcdp, Extremes) {
  EXPECT_EQ(zcdp_to_delta(0, 1), 0);
  EXPECT_EQ(zcdp_to_delta(kInf, 1), 1);
  EXPECT_EQ(zcdp_to_delta(1, kInf), 0);
  EXPECT_EQ(zcdp_to_epsilon(0, 0), 0);
  EXPECT_EQ(zcdp_to_epsilon(1, 0), kInf);
  EXPECT_EQ(zcdp_to_epsilon(1, 1), 0);
  EXPECT_EQ(zcdp_from_epsilon(1, 0), 0);
  EXPECT_EQ(zcdp_from_epsilon(kInf, 0.1), kInf);
}

TEST(Zcdp, BadNumbersAreRefused) {
  EXPECT_THROW(gaussian_zcdp(-1), UserError);
  EXPECT_THROW(noise_multiplier_for_zcdp(std::nan("")), UserError);
  EXPECT_THROW(zcdp_to_delta(-1, 1), UserError);
  EXPECT_THROW(zcdp_to_delta(1, -1), UserError);
  EXPECT_THROW(zcdp_to_epsilon(1, 2), UserError);
  EXPECT_THROW(zcdp_from_epsilon(-1, 0.1), UserError);
}

}  // namespace
}  // namespace tessera::privacy::accounting::zcdp_test
