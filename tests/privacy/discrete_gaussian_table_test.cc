#include "tessera/privacy/noise/discrete_gaussian_table.h"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

namespace tessera::privacy::internal::discrete_gaussian_table_test {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_50;  // 168 bits
using Integer = boost::multiprecision::uint256_t;

// How many of the 2^128 pairs of words give each integer, by the definition of the method.
std::vector<Integer> counts(const AliasTable& table) {
  const size_t cells = size_t{1} << table.index_bits;
  EXPECT_EQ(table.words.size(), 2 * cells);
  std::vector<Integer> out(cells);
  const Integer full = Integer(1) << (128 - table.index_bits);
  for (size_t i = 0; i < cells; ++i) {
    const Integer threshold =
        (Integer(table.words[2 * i] >> table.index_bits) << 64) + table.words[2 * i + 1];
    out[i] += threshold;
    out[table.words[2 * i] & (cells - 1)] += full - threshold;
  }
  return out;
}

// The total variation to the discrete Gaussian, whose probabilities are summed directly in 50 digits.
TEST(AliasTable, IsTheDiscreteGaussian) {
  for (const double s : {1.0, 1.7, 18.2, 150.0, 600.0}) {
    const AliasTable table = alias_table(s, index_bits(s));
    const std::vector<Integer> drawn = counts(table);
    const int64_t cells = int64_t{1} << table.index_bits;
    Wide total = 0;
    std::vector<Wide> weights;
    for (int64_t i = 0; i < cells; ++i) {
      const Wide x(table.first + i);
      weights.push_back(exp(-x * x / (2 * Wide(s) * Wide(s))));
    }
    // The table's integers and those beyond them on either side.
    for (const Wide& w : weights) total += w;
    // From 20 s on nothing is left at this precision.
    Wide beyond = 0;
    const auto end = static_cast<int64_t>(20 * s);
    for (int64_t k = -table.first + 1; k <= end; ++k)
      beyond += exp(-Wide(k) * k / (2 * Wide(s) * Wide(s)));
    for (int64_t k = table.first + cells; k <= end; ++k)
      beyond += exp(-Wide(k) * k / (2 * Wide(s) * Wide(s)));
    total += beyond;
    Wide distance = beyond / total;
    Integer sum = 0;
    for (size_t i = 0; i < drawn.size(); ++i) {
      distance += abs(ldexp(Wide(drawn[i]), -128) - weights[i] / total);
      sum += drawn[i];
    }
    EXPECT_EQ(sum, Integer(1) << 128) << s;
    EXPECT_LT(distance / 2, ldexp(Wide(1), -114)) << s;
  }
}

// Positive and negative integers are as probable, to the last bit.
TEST(AliasTable, IsSymmetric) {
  const AliasTable table = alias_table(18.2, index_bits(18.2) + 2);
  const std::vector<Integer> drawn = counts(table);
  const auto zero = static_cast<size_t>(-table.first);
  for (size_t k = 1; k <= zero; ++k) EXPECT_EQ(drawn[zero + k], drawn[zero - k]) << k;
  EXPECT_GT(drawn[0], 0);
}

// What the header claims of them, at the ends of every kind of level.
TEST(Levels, AddUpToTheVariance) {
  for (const double s : {1.0, 600.0, 600.1, 1000.0, 65536.0, 143999.0, 144001.0, 16777216.0}) {
    const std::vector<Level> parts = levels(s);
    EXPECT_LE(parts.size(), 3u);
    double variance = 0, rest = s;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Level& part = parts[i];
      EXPECT_LE(part.stddev, 610);
      variance += std::pow(part.stddev * static_cast<double>(part.scale), 2);
      if (i + 1 == parts.size()) break;
      const double c = static_cast<double>(parts[i + 1].scale / part.scale);
      const double flat = 1 / (c * c / (part.stddev * part.stddev) +
                               c * c / (rest * rest - part.stddev * part.stddev));
      EXPECT_GE(flat, 4.68) << s;
      rest = std::sqrt(rest * rest - part.stddev * part.stddev) / c;
    }
    EXPECT_NEAR(variance / (s * s), 1, 1e-13) << s;
  }
}

}  // namespace
}  // namespace tessera::privacy::internal::discrete_gaussian_table_test
