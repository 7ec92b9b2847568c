#include "tessera/privacy/accounting/pld_pmf.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/format.h"

namespace tessera::privacy::accounting::internal {

namespace {

// From the excess at the points from `lowest` on; a point of the grid is 0.
//
// A drop of delta between two neighbours on the grid is a mass of losses between them; it goes to both so
// that its sum and its sum of exp(-loss) stay. This is linear in delta, and perfect privacy is the mass 1
// at 0: the excess alone is differenced, whose rounding is as small as itself.
std::shared_ptr<const PldPmf> from_excess(std::span<const double> excess, int64_t lowest,
                                          double interval) {
  const double to_lower = 1 / std::expm1(interval), to_upper = -1 / std::expm1(-interval);
  std::vector<double> probs(excess.size());
  probs[static_cast<size_t>(-lowest)] = 1;
  probs[0] -= excess[0];
  for (size_t i = 0; i + 1 < excess.size(); ++i) {
    const double drop = excess[i] - excess[i + 1];
    probs[i] -= drop * to_lower;
    probs[i + 1] += drop * to_upper;
  }
  for (double& probability : probs) probability = std::max(probability, 0.0);
  return std::make_shared<const PldPmf>(PldPmf{interval, lowest, std::move(probs), excess.back()});
}

}  // namespace

double grid_points(const PrivacyLoss& loss, double interval) {
  return std::ceil(loss.upper / interval) - std::floor(loss.lower / interval) + 1;
}

BothDirections connect_the_dots(const PrivacyLoss& loss, double interval) {
  TESSERA_CHECK(loss.lower <= 0 && loss.upper >= 0);
  const int64_t lowest = static_cast<int64_t>(std::floor(loss.lower / interval));
  const int64_t highest = static_cast<int64_t>(std::ceil(loss.upper / interval));
  std::vector<double> epsilons;
  for (int64_t i = lowest; i <= highest; ++i) epsilons.push_back(static_cast<double>(i) * interval);
  std::vector<double> excess(epsilons.size());
  loss.excess(epsilons, excess);
  for (double& value : excess) {
    TESSERA_CHECK(!std::isnan(value), "of {} losses", excess.size());
    value = std::clamp(value, 0.0, 1.0);
  }
  const std::shared_ptr<const PldPmf> remove = from_excess(excess, lowest, interval);
  if (loss.symmetric) return {remove, remove};
  for (size_t i = 0; i < excess.size(); ++i) excess[i] *= std::exp(-epsilons[i]);
  std::reverse(excess.begin(), excess.end());
  return {remove, from_excess(excess, -highest, interval)};
}

}  // namespace tessera::privacy::accounting::internal
