#include "tessera/privacy/auditing/root.h"

#include <cmath>

namespace tessera::privacy::auditing::internal::root_test {
namespace {

TEST(LastPositive, IsPositiveAndNextToTheRoot) {
  for (const double root : {0.1, 1.0 / 3, 2.7}) {
    const auto f = [&](double x) { return root * root * root - x * x * x; };
    const double found = last_positive(f, 0, 3);
    EXPECT_GE(f(found), 0);
    EXPECT_NEAR(found / root, 1, 1e-14);
  }
}

TEST(LastPositive, TakesInfinities) {
  const auto f = [](double x) { return x == 0 ? 1 / x : std::log(2.0) - std::log(x); };
  EXPECT_NEAR(last_positive(f, 0, 1e6), 2, 1e-13);
  EXPECT_EQ(last_positive([](double x) { return 3 - x; }, 0, 3), 3);
}

}  // namespace
}  // namespace tessera::privacy::auditing::internal::root_test
