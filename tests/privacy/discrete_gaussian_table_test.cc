#include "tessera/privacy/noise/discrete_gaussian_table.h"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

namespace tessera::privacy::internal {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_100;
using Integer = boost::multiprecision::uint256_t;

// What draws of a table have: of each integer how many of the 2^128 pairs of words give it, by the
// definition of the method.
std::vector<Integer> counts(const AliasTable& table) {
  std::vector<Integer> out(AliasTable::kCells);
  const Integer full = Integer(1) << 116;
  for (size_t i = 0; i < AliasTable::kCells; ++i) {
    const Integer threshold = (Integer(table.high[i] >> 12) << 64) + table.low[i];
    out[i] += threshold;
    out[table.high[i] & 0xfff] += full - threshold;
  }
  return out;
}

// The total variation to the discrete Gaussian, whose probabilities are summed directly in 100 digits.
TEST(AliasTable, IsTheDiscreteGaussian) {
  for (const double s : {1.0, 1.7, 18.2, 128.0, 150.0}) {
    const AliasTable table = alias_table(s);
    const std::vector<Integer> drawn = counts(table);
    Wide total = 0;
    std::vector<Wide> weights;
    for (int64_t i = 0; i < static_cast<int64_t>(AliasTable::kCells); ++i) {
      const Wide x(table.first + i);
      weights.push_back(exp(-x * x / (2 * Wide(s) * Wide(s))));
    }
    // The table's integers and those beyond them on either side.
    for (const Wide& w : weights) total += w;
    Wide beyond = 0;
    for (int64_t k = table.first - 1; k > table.first - 2000; --k)
      beyond += exp(-Wide(k) * k / (2 * Wide(s) * Wide(s)));
    const int64_t last = table.first + static_cast<int64_t>(AliasTable::kCells);
    for (int64_t k = last; k < last + 2000; ++k)
      beyond += exp(-Wide(k) * k / (2 * Wide(s) * Wide(s)));
    total += beyond;
    Wide distance = beyond / total;
    Integer sum = 0;
    for (size_t i = 0; i < AliasTable::kCells; ++i) {
      distance += abs(ldexp(Wide(drawn[i]), -128) - weights[i] / total);
      sum += drawn[i];
    }
    EXPECT_EQ(sum, Integer(1) << 128) << s;
    EXPECT_LT(distance / 2, ldexp(Wide(1), -115)) << s;
  }
}

// Positive and negative integers are as probable, to the last bit.
TEST(AliasTable, IsSymmetric) {
  const AliasTable table = alias_table(18.2);
  const std::vector<Integer> drawn = counts(table);
  const auto zero = static_cast<size_t>(-table.first);
  for (size_t k = 1; k <= zero; ++k) EXPECT_EQ(drawn[zero + k], drawn[zero - k]) << k;
  EXPECT_GT(drawn[0], 0);
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
