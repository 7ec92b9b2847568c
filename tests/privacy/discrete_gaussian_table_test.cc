#include "tessera/privacy/noise/discrete_gaussian_table.h"

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

namespace tessera::privacy::internal::discrete_gaussian_table_test {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_50;  // 168 bits
using Integer = boost::multiprecision::uint256_t;

// Returns how many of the 2^127 pairs of words, without their sign, give each magnitude, by the
// definition of the method.
std::vector<Integer> counts(const AliasTable& table) {
  const size_t cells = size_t{1} << table.index_bits;
  EXPECT_EQ(table.words.size(), 2 * cells);
  std::vector<Integer> out(cells);
  const Integer full = Integer(1) << (127 - table.index_bits);
  for (size_t i = 0; i < cells; ++i) {
    EXPECT_EQ(table.words[i] >> table.index_bits & 1, 0u);
    const Integer threshold =
        (Integer(table.words[i] >> (table.index_bits + 1)) << 64) + table.words[cells + i];
    out[i] += threshold;
    out[table.words[i] & (cells - 1)] += full - threshold;
  }
  return out;
}

// Compares with the discrete Gaussian in total variation; its probabilities are summed directly in
// 50 digits.
TEST(AliasTable, IsTheDiscreteGaussian) {
  for (const double s : {1.0, 1.7, 18.2, 150.0, 600.0, 1202.0}) {
    const AliasTable table = alias_table(s, index_bits(s));
    const std::vector<Integer> drawn = counts(table);
    // The weights of both signs together. Beyond 20 s nothing is left at this precision.
    std::vector<Wide> weights;
    Wide total = 0;
    const auto end = std::max(static_cast<size_t>(20 * s), drawn.size());
    for (size_t k = 0; k < end; ++k) {
      weights.push_back((k > 0 ? 2 : 1) * exp(-Wide(k) * k / (2 * Wide(s) * Wide(s))));
      total += weights.back();
    }
    Wide distance = 0;
    Integer sum = 0;
    for (size_t k = 0; k < end; ++k) {
      const Wide probability = k < drawn.size() ? ldexp(Wide(drawn[k]), -127) : Wide(0);
      distance += abs(probability - weights[k] / total);
    }
    for (const Integer& count : drawn) sum += count;
    EXPECT_EQ(sum, Integer(1) << 127) << s;
    EXPECT_LT(distance / 2, ldexp(Wide(1), -113)) << s;
  }
}

// A table with more cells than it needs has the same probabilities.
TEST(AliasTable, MayHaveMoreCells) {
  const std::vector<Integer> drawn = counts(alias_table(18.2, index_bits(18.2)));
  std::vector<Integer> more = counts(alias_table(18.2, index_bits(18.2) + 2));
  EXPECT_EQ(more.size(), 4 * drawn.size());
  more.resize(drawn.size());
  EXPECT_EQ(more, drawn);
}

// The header's claims about levels hold at the ends of each kind of level.
TEST(Levels, AddUpToTheVariance) {
  for (const double s :
       {1.0, 1200.0, 1200.1, 2000.0, 65536.0, 524288.0, 575999.0, 576001.0, 16777216.0}) {
    const std::vector<Level> parts = levels(s);
    EXPECT_LE(parts.size(), 3u);
    double variance = 0, rest = s;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Level& part = parts[i];
      EXPECT_LE(part.stddev, 1210);
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
