#include "tessera/privacy/noise/discrete_gaussian_table.h"

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>

namespace tessera::privacy::internal {

namespace {

using Wide = boost::multiprecision::cpp_bin_float_50;  // 168 bits

// exp(-k^2 / (2 s^2)) for k = 0, 1, ... down to 2^-200, each from the one before it:
// w[k + 1] = w[k] q^(2k + 1) with q = exp(-1 / (2 s^2)), one exponential in all.
std::vector<Wide> weights(double stddev) {
  const Wide s(stddev), q = exp(-1 / (2 * s * s)), square = q * q;
  const Wide smallest = ldexp(Wide(1), -200);
  std::vector<Wide> out{1};
  for (Wide ratio = q; out.back() > smallest; ratio *= square) out.push_back(out.back() * ratio);
  return out;
}

}  // namespace

TailTable tail_table(double stddev) {
  const std::vector<Wide> w = weights(stddev);
  // tails[k]: the weight of k and beyond, summed from the smallest.
  std::vector<Wide> tails = w;
  for (size_t k = w.size() - 1; k-- > 0;) tails[k] += tails[k + 1];
  const Wide total = 2 * tails[0] - w[0];
  TailTable out{{0}, {0}};
  for (size_t k = 1; k < w.size(); ++k) {
    const Wide scaled = ldexp(2 * tails[k] / total, 64), high = floor(scaled);
    const Wide low = floor(ldexp(scaled - high, 63));
    if (high == 0 && low == 0) break;
    out.high.push_back(high.convert_to<uint64_t>());
    out.low.push_back(low.convert_to<uint64_t>());
  }
  const size_t size = std::bit_ceil(out.high.size());
  out.high.resize(size);
  out.low.resize(size);
  return out;
}

std::vector<Level> levels(double stddev) {
  // Of 2048 entries at most: one kernel looks them all up in the first-level cache.
  constexpr double kTable = 128, kMost = 60;
  std::vector<Level> out;
  int64_t scale = 1;
  while (stddev > kTable) {
    const double c = std::min(kMost, std::floor(stddev / 5)), b = 2.5 * c;
    out.push_back({b, scale});
    stddev = std::sqrt((stddev - b) * (stddev + b)) / c;
    scale *= static_cast<int64_t>(c);
  }
  out.push_back({stddev, scale});
  return out;
}

}  // namespace tessera::privacy::internal
