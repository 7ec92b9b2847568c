// The deltas of an accountant at many epsilons, interpolated between a few of them. For source
// files of accounting/.
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
  // Deltas below `negligible`, in (0, 1), are replaced by it.
  DeltaTable(PldAccountant accountant, double negligible);

  // Returns an upper bound of accountant.get_delta(epsilon), above it by a relative 1e-3 or so
  // where it is not negligible. The accountant is asked once for each interval of epsilons, 0.02
  // wide, in which a delta is wanted.
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
