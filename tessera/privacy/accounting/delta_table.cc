#include "tessera/privacy/accounting/delta_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::privacy::accounting::internal {
namespace {

constexpr double kStep = 0.01;

}  // namespace

DeltaTable::DeltaTable(PldAccountant accountant, double lowest, double highest)
    : accountant_(std::move(accountant)),
      lowest_(lowest),
      deltas_(static_cast<size_t>(std::ceil(std::max(highest - lowest, 0.0) / kStep)) + 1,
              std::numeric_limits<double>::quiet_NaN()) {}

double DeltaTable::at(size_t place) {
  double& delta = deltas_[place];
  if (std::isnan(delta))
    delta = accountant_.get_delta(lowest_ + static_cast<double>(place) * kStep);
  return delta;
}

double DeltaTable::at_least(double epsilon) {
  if (epsilon < lowest_) return 1;
  const double from_lowest = (epsilon - lowest_) / kStep;
  if (from_lowest >= static_cast<double>(deltas_.size() - 1)) return at(deltas_.size() - 1);
  const auto place = static_cast<size_t>(from_lowest);
  const double rest = epsilon - (lowest_ + static_cast<double>(place) * kStep);
  const double weight = std::clamp(std::expm1(rest) / std::expm1(kStep), 0.0, 1.0);
  return (1 - weight) * at(place) + weight * at(place + 1);
}

}  // namespace tessera::privacy::accounting::internal
