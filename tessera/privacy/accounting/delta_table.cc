#include "tessera/privacy/accounting/delta_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::privacy::accounting::internal {
namespace {

constexpr double kStep = 0.02;
// For epsilons below -kLowest e^epsilon is negligible compared with 1, and delta is 1.
constexpr double kLowest = 40;
constexpr double kHighest = 1e6;

}  // namespace

DeltaTable::DeltaTable(PldAccountant accountant, double negligible)
    : accountant_(std::move(accountant)),
      last_(static_cast<int64_t>(
          std::ceil(std::min(accountant_.get_epsilon(negligible), kHighest) / kStep))) {}

double DeltaTable::at(int64_t place) {
  const auto found = deltas_.find(place);
  if (found != deltas_.end()) return found->second;
  return deltas_[place] = accountant_.get_delta(static_cast<double>(place) * kStep);
}

double DeltaTable::at_least(double epsilon) {
  if (epsilon < -kLowest) return 1;
  if (epsilon >= static_cast<double>(last_) * kStep) return at(last_);
  const auto place = static_cast<int64_t>(std::floor(epsilon / kStep));
  const double rest = epsilon - static_cast<double>(place) * kStep;
  const double weight = std::clamp(std::expm1(rest) / std::expm1(kStep), 0.0, 1.0);
  return (1 - weight) * at(place) + weight * at(place + 1);
}

}  // namespace tessera::privacy::accounting::internal
