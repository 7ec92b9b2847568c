#include "tessera/privacy/auditing/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/privacy/auditing/gaussian_privacy.h"

namespace tessera::privacy::auditing::internal {

double quantile(std::span<const double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double low = sorted[below], high = sorted[above];
  if (low == high) return low;  // also if both are infinite
  return std::lerp(low, high, place - static_cast<double>(below));
}

std::vector<double> corrected_quantiles(std::span<const double> values, double estimate,
                                        double acceleration, std::span<const double> quantiles) {
  const auto below = static_cast<double>(
      std::count_if(values.begin(), values.end(), [&](double v) { return v < estimate; }));
  const double bias = normal_quantile((below + 1) / (static_cast<double>(values.size()) + 2));
  std::vector<double> out;
  for (const double q : quantiles) {
    const double z = bias + normal_quantile(q);
    out.push_back(normal_cdf(bias + z / (1 - acceleration * z)));
  }
  return out;
}

double acceleration(std::span<const double> jackknife) {
  const double mean = std::accumulate(jackknife.begin(), jackknife.end(), 0.0) /
                      static_cast<double>(jackknife.size());
  double square = 0, cube = 0;
  for (const double value : jackknife) {
    const double d = mean - value;
    square += d * d;
    cube += d * d * d;
  }
  return square == 0 ? 0 : cube / (6 * std::pow(square, 1.5));
}

}  // namespace tessera::privacy::auditing::internal
