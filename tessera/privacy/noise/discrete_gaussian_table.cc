#include "tessera/privacy/noise/discrete_gaussian_table.h"

#include <bit>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "tessera/base/format.h"

namespace tessera::privacy::internal {

namespace {

using Wide = boost::multiprecision::cpp_bin_float_50;  // 168 bits
using Integer = boost::multiprecision::uint256_t;

// Returns w[k] = exp(-k^2 / (2 s^2)) for k = 0, 1, ... down to 2^-200. Each is computed from the
// one before it, w[k + 1] = w[k] q^(2k + 1) with q = exp(-1 / (2 s^2)), so one exponential is
// enough.
std::vector<Wide> weights(double stddev) {
  const Wide s(stddev), q = exp(-1 / (2 * s * s)), square = q * q;
  const Wide smallest = ldexp(Wide(1), -200);
  std::vector<Wide> out{1};
  for (Wide ratio = q; out.back() > smallest; ratio *= square) out.push_back(out.back() * ratio);
  return out;
}

// Returns P(|X| = k) for k = 0, 1, ... in units of 2^-127, rounded down, up to the last that is not
// 0. (For k > 0 this is P(X = k) in units of 2^-128.)
std::vector<Integer> probabilities(double stddev) {
  const std::vector<Wide> w = weights(stddev);
  Wide total = 0;  // summed from the smallest
  for (size_t k = w.size() - 1; k > 0; --k) total += 2 * w[k];
  total += w[0];
  std::vector<Integer> out;
  for (size_t k = 0; k < w.size(); ++k) {
    const Integer units = floor(ldexp(w[k] / total, k > 0 ? 128 : 127)).convert_to<Integer>();
    if (units == 0) break;
    out.push_back(units);
  }
  return out;
}

}  // namespace

int index_bits(double stddev) {
  const int bits = std::bit_width(probabilities(stddev).size() - 1);
  TESSERA_CHECK(bits <= 14, "a table of parameter {} needs {} bits", stddev, bits);
  return bits;
}

AliasTable alias_table(double stddev, int bits) {
  std::vector<Integer> left = probabilities(stddev);
  const size_t cells = size_t{1} << bits;
  TESSERA_CHECK(left.size() <= cells, "{} bits cannot name {} magnitudes", bits, left.size());
  left.resize(cells);
  Integer rest = Integer(1) << 127;
  for (const Integer& units : left) rest -= units;
  left[0] += rest;  // the remainder of rounding down: at most 2^-113 in all
  // Vose's algorithm fills a cell that is not full from one that has more than it needs.
  const Integer full = Integer(1) << (127 - bits);
  std::vector<size_t> small, large, alias(cells);
  for (size_t i = 0; i < cells; ++i) {
    alias[i] = i;
    (left[i] < full ? small : large).push_back(i);
  }
  std::vector<Integer> threshold = left;
  while (!small.empty()) {
    const size_t i = small.back(), j = large.back();
    small.pop_back();
    alias[i] = j;
    left[j] -= full - left[i];
    threshold[j] = left[j];
    if (left[j] < full) {
      large.pop_back();
      small.push_back(j);
    }
  }
  AliasTable out{bits, std::vector<uint64_t>(2 * cells)};
  for (size_t i = 0; i < cells; ++i) {
    // In a full cell the alias is the cell's own integer, so any threshold is correct.
    const Integer t = alias[i] == i ? Integer(0) : threshold[i];
    out.words[i] = Integer(t >> 64).convert_to<uint64_t>() << (bits + 1) | alias[i];
    out.words[cells + i] = Integer(t & ~uint64_t{0}).convert_to<uint64_t>();
  }
  return out;
}

std::vector<Level> levels(double stddev) {
  // With n levels, each a factor c above the one below it with b = 2.5 c, the last is about as
  // large as the others if c^n = stddev / 2.5. A table of parameter 1,200 has 15,826 cells, which
  // fit the second-level cache; that costs less than another level.
  constexpr double kTable = 1200, kMost = 480;
  const auto factor = [&](int levels) { return std::pow(stddev / 2.5, 1.0 / levels); };
  int count = stddev <= kTable ? 1 : 2;
  while (count > 1 && factor(count) > kMost) ++count;
  const double c = std::floor(factor(count)), b = 2.5 * c;
  std::vector<Level> out;
  int64_t scale = 1;
  for (; count > 1; --count) {
    out.push_back({b, scale});
    stddev = std::sqrt((stddev - b) * (stddev + b)) / c;
    scale *= static_cast<int64_t>(c);
  }
  out.push_back({stddev, scale});
  return out;
}

}  // namespace tessera::privacy::internal
