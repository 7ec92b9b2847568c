// Sums on a ring, by few coefficients, by all coefficients, and by adding up.
#include "tessera/privacy/accounting/pld_spectrum.h"

#include <cmath>

namespace tessera::privacy::accounting::internal::pld_spectrum_test {
namespace {

// Returns a discretised normal distribution around `mean`, `count` times, with 200 points on either
// side.
RingPart bell(double mean, double deviation, int64_t count) {
  RingPart out{{}, -200, count};
  double sum = 0;
  for (int i = -200; i <= 200; ++i) {
    out.probs.push_back(std::exp(-0.5 * std::pow((i - mean) / deviation, 2)));
    sum += out.probs.back();
  }
  for (double& p : out.probs) p /= sum;
  return out;
}

std::vector<double> convolved(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out(a.size() + b.size() - 1);
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j) out[i + j] += a[i] * b[j];
  return out;
}

void expect_tails(const std::vector<RingPart>& parts, int64_t first, int64_t points, double theta) {
  constexpr double kInterval = 1e-2;
  std::vector<double> sum{1};
  int64_t lowest = 0;
  for (const RingPart& part : parts)
    for (int64_t i = 0; i < part.count; ++i) {
      sum = convolved(sum, part.probs);
      lowest += part.lowest;
    }
  const RingTails tails(parts, first, points, theta, kInterval);
  const int64_t n = tails.size();
  EXPECT_GE(n, points);
  std::vector<double> ring(static_cast<size_t>(n));
  for (size_t i = 0; i < sum.size(); ++i)
    ring[static_cast<size_t>((((lowest + static_cast<int64_t>(i) - first) % n) + n) % n)] += sum[i];
  for (int64_t m0 : {int64_t{0}, n / 3, n / 2, n - 1}) {
    double upper = 0, lower = 0;
    for (int64_t m = m0; m < n; ++m) {
      const double distance = static_cast<double>(m - m0) * kInterval;
      upper += ring[static_cast<size_t>(m)] * std::exp(-theta * distance);
      lower += ring[static_cast<size_t>(m)] * std::exp(-(theta + 1) * distance);
    }
    EXPECT_NEAR(tails(m0).upper, upper, 1e-14) << n << " from " << m0;
    EXPECT_NEAR(tails(m0).lower, lower, 1e-14) << n << " from " << m0;
  }
}

TEST(PldSpectrum, AFewCoefficientsOfSmoothSums) {
  expect_tails({bell(3.3, 40, 12)}, -1200, 3000, 2.5);
  expect_tails({bell(3.3, 40, 6), bell(-20, 15, 5)}, -900, 2500, 0.3);
}

TEST(PldSpectrum, AllCoefficientsOfOthers) {
  expect_tails({bell(3.3, 40, 1)}, -300, 700, 2.5);
  expect_tails({bell(3.3, 40, 5)}, -900, 2000, 0);        // no geometric series converges
  expect_tails({{{0.5, 0, 0.5}, -1, 30}}, -40, 90, 1.5);  // its points are apart
}

// The window is shorter than the sum, whose ends wrap around.
TEST(PldSpectrum, RingsClose) {
  expect_tails({bell(3.3, 40, 12)}, -300, 700, 2.5);
  expect_tails({bell(0.7, 30, 10)}, 50, 1000, 1);
}

}  // namespace
}  // namespace tessera::privacy::accounting::internal::pld_spectrum_test
