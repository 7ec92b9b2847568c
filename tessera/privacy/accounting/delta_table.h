// The deltas of an accountant at many epsilons, interpolated between a few of them. Internal to
// privacy/.
//
// delta is a convex function of e^epsilon: the mean of max(0, 1 - e^epsilon e^-loss). So a chord
// between two of its points is above it, which makes it an upper bound.
#pragma once

#include <cstdint>
#include <map>

#include "tessera/privacy/accounting/pld.h"

namespace tessera::privacy::accounting::internal {

class DeltaTable {
 public:
  // Deltas below `negligible` are replaced by it. `negligible` is in (0, 1).
  DeltaTable(PldAccountant accountant, double negligible);

  // Returns an upper bound of accountant.get_delta(epsilon), which exceeds it by about a thousandth
  // unless it is negligible. The accountant computes one delta for each interval of epsilons, 0.02
  // wide, from which a delta is asked.
  double at_least(double epsilon);
  // Returns accountant.get_epsilon(delta).
  double get_epsilon(double delta) const { return accountant_.get_epsilon(delta); }

 private:
  double at(int64_t place);

  PldAccountant accountant_;
  int64_t last_;                      // beyond it deltas are negligible
  std::map<int64_t, double> deltas_;  // at index * kStep
};

}  // namespace tessera::privacy::accounting::internal
