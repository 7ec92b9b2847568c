#include "tessera/privacy/auditing/one_run.h"

#include <cmath>

namespace tessera::privacy::auditing::internal::one_run_test {
namespace {

// Under pure differential privacy, all n guesses are right with probability (e^eps / (1 +
// e^eps))^n.
TEST(OneRun, PureBoundIsThatOfCoins) {
  const double epsilon = epsilon_one_run({20, 10, 10}, 0, 0.05, 0);
  EXPECT_NEAR(std::pow(1 / (1 + std::exp(-epsilon)), 10), 0.05, 1e-12);
  EXPECT_LE(one_run_p_value({20, 10, 10}, epsilon, 0), 0.05 * (1 + 1e-12));
}

TEST(OneRun, DeltaWeakensTheBound) {
  double last = epsilon_one_run({1000, 400, 330}, 0, 0.05, 0);
  EXPECT_GT(last, 0);
  for (const double delta : {1e-9, 1e-6, 1e-4, 1e-2}) {
    const double next = epsilon_one_run({1000, 400, 330}, 0, 0.05, delta);
    EXPECT_LE(next, last);
    last = next;
  }
  // A delta of 1e-4 for each of 1,000 canaries explains some of the guesses, and a delta of 1e-2
  // all of them.
  EXPECT_LT(epsilon_one_run({1000, 400, 330}, 0, 0.05, 1e-4),
            epsilon_one_run({1000, 400, 330}, 0, 0.05, 0));
  EXPECT_EQ(last, 0);
}

TEST(OneRun, GuessesThatSayNothingGiveTheLeast) {
  EXPECT_EQ(epsilon_one_run({100, 50, 20}, 0.25, 0.05, 1e-5), 0.25);
  EXPECT_EQ(epsilon_one_run({100, 0, 0}, 0.25, 0.05, 1e-5), 0.25);
  EXPECT_EQ(epsilon_one_run_fdp({100, 50, 20}, 0.25, 0.05, 1e-5), 0.25);
  EXPECT_EQ(epsilon_one_run_fdp({100, 0, 0}, 0.25, 0.05, 1e-5), 0.25);
  EXPECT_EQ(epsilon_one_run_fdp({100, 50, 50}, 0.25, 0.05, 1), 0.25);
}

TEST(OneRun, TheGaussianBoundIsTheTighter) {
  EXPECT_GT(epsilon_one_run_fdp({1000, 400, 390}, 0, 0.05, 1e-5),
            epsilon_one_run({1000, 400, 390}, 0, 0.05, 1e-5));
}

}  // namespace
}  // namespace tessera::privacy::auditing::internal::one_run_test
