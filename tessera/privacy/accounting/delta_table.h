// The deltas of an accountant at many epsilons, from a few of them. For source files of
// accounting/.
//
// delta is a convex function of e^epsilon: the mean of max(0, 1 - e^epsilon e^-loss). So a chord
// between two points of it is above it, which is the side that a bound is on.
#pragma once

#include <cstdint>
#include <map>

#include "tessera/privacy/accounting/pld.h"

namespace tessera::privacy::accounting::internal {

class DeltaTable {
 public:
  // Deltas below `negligible`, in (0, 1), count as that.
  DeltaTable(PldAccountant accountant, double negligible);

  // Returns at least accountant.get_delta(epsilon): some 1e-3 of it more where it is not
  // negligible. The accountant is asked once for each interval of epsilons, of 0.02, that anybody
  // asks for.
  double at_least(double epsilon);
  // accountant.get_epsilon(delta).
  double get_epsilon(double delta) const { return accountant_.get_epsilon(delta); }

 private:
  double at(int64_t place);

  PldAccountant accountant_;
  int64_t last_;                      // beyond it deltas are negligible
  std::map<int64_t, double> deltas_;  // at place * kStep
};

}  // namespace tessera::privacy::accounting::internal
