// The deltas of an accountant at many epsilons, from a few of them. For source files of accounting/.
//
// delta is a convex function of e^epsilon: the mean of max(0, 1 - e^epsilon e^-loss). So a chord between two
// points of it is above it, which is the side that a bound is on.
#pragma once

#include <vector>

#include "tessera/privacy/accounting/pld.h"

namespace tessera::privacy::accounting::internal {

class DeltaTable {
 public:
  // Of epsilons from `lowest` on; above `highest` the delta there stands for all.
  DeltaTable(PldAccountant accountant, double lowest, double highest);

  // Returns at least accountant.get_delta(epsilon), and more by some 1e-4 of it at most; 1 below `lowest`.
  double at_least(double epsilon);

 private:
  double at(size_t place);

  PldAccountant accountant_;
  double lowest_;
  std::vector<double> deltas_;  // at lowest_ + place * kStep; NaN where nobody has asked
};

}  // namespace tessera::privacy::accounting::internal
