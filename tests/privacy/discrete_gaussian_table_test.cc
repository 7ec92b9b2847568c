#include "tessera/privacy/noise/discrete_gaussian_table.h"

#include <cmath>

namespace tessera::privacy::internal {
namespace {

double as_double(const TailTable& table, size_t k) {
  return std::ldexp(static_cast<double>(table.high[k]), -64) +
         std::ldexp(static_cast<double>(table.low[k]), -127);
}

// Against sums in long double.
TEST(TailTable, HoldsTheTails) {
  for (const double s : {1.0, 3.7, 128.0, 150.0}) {
    long double total = 1;
    std::vector<long double> weights{1};
    for (int k = 1; k <= 14 * s; ++k) {
      weights.push_back(std::exp(-static_cast<long double>(k) * k / (2.0L * s * s)));
      total += 2 * weights.back();
    }
    const TailTable table = tail_table(s);
    long double tail = 0;
    for (size_t k = weights.size() - 1; k > 0; --k) {
      tail += 2 * weights[k] / total;
      if (k >= table.high.size() || tail < 0x1p-80L) continue;
      EXPECT_NEAR(as_double(table, k) / static_cast<double>(tail), 1, 1e-12) << s << " " << k;
    }
  }
}

TEST(TailTable, FallsToZeroAt127Bits) {
  const TailTable table = tail_table(150);
  ASSERT_EQ(table.high.size(), 2048u);
  size_t last = 0;
  for (size_t k = 1; k < table.high.size(); ++k) {
    if (as_double(table, k) > 0) last = k;
    EXPECT_LE(as_double(table, k), k > 1 ? as_double(table, k - 1) : 1);
    EXPECT_LT(table.low[k], uint64_t{1} << 63);
  }
  EXPECT_LT(as_double(table, last), 0x1p-126);
  EXPECT_LT(last, 2047u);
}

// What the header claims of them, at the ends of every kind of level.
TEST(Levels, AddUpToTheVariance) {
  for (const double s :
       {1.0, 128.0, 128.1, 129.9, 130.0, 299.9, 300.0, 1e4, 65536.0, 1234567.8, 16777216.0}) {
    const std::vector<Level> parts = levels(s);
    EXPECT_LE(parts.size(), 4u);
    double variance = 0, rest = s;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Level& part = parts[i];
      EXPECT_LE(part.stddev, 150);
      variance += std::pow(part.stddev * static_cast<double>(part.scale), 2);
      if (i + 1 == parts.size()) break;
      const double c = static_cast<double>(parts[i + 1].scale / part.scale);
      const double flat = 1 / (c * c / (part.stddev * part.stddev) +
                               c * c / (rest * rest - part.stddev * part.stddev));
      EXPECT_GE(flat, 4.68) << s;
      rest = std::sqrt(rest * rest - part.stddev * part.stddev) / c;
    }
    EXPECT_NEAR(variance / (s * s), 1, 1e-14) << s;
  }
}

}  // namespace
}  // namespace tessera::privacy::internal
