#include "tessera/ops/special/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/namespaces.h"
#include "tessera/ops/special/bessel_coefficients.h"

namespace tessera::ops::special::series_test {
namespace {

using testing::ElementsAre;

// 4 + 3 t + 2 (2 t^2 - 1) + (-1) (4 t^3 - 3 t)
TEST(Series, PowersOfChebyshev) {
  const double series[] = {4, 3, 2, -1};
  EXPECT_THAT(powers_of_chebyshev(series, 0), ElementsAre(2, 6, 4, -4));
  EXPECT_THAT(powers_of_chebyshev(series, 1.5), ElementsAre(2, 3, 4));
  EXPECT_THAT(powers_of_chebyshev(series, 2), ElementsAre(4, 3));
  EXPECT_THAT(powers_of_chebyshev(series, 9), ElementsAre(4));
}

// The polynomial has the values of the series, which is summed from its cosines.
TEST(Series, PowersOfLongChebyshev) {
  for (const double least : {0.0, 1e-10}) {
    const std::vector<double> powers = powers_of_chebyshev(kI0Small, least);
    for (int i = 0; i <= 50; ++i) {
      const double angle = i * M_PI / 50, t = std::cos(angle);
      double sum = 0, want = 0;
      for (size_t k = powers.size(); k-- > 0;) sum = sum * t + powers[k];
      for (size_t k = 0; k < kI0Small.size(); ++k)
        want += kI0Small[k] * std::cos(static_cast<double>(k) * angle);
      EXPECT_NEAR(sum, want, 1e-15 + 2 * least) << t;
    }
  }
}

}  // namespace
}  // namespace tessera::ops::special::series_test
