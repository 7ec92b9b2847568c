// The sum of many independent losses on a grid of n points that closes to a ring, by its Fourier
// coefficients: what lies above a point. For pld_composition.cc.
//
// A sum of many losses is smooth: its coefficients beyond the first hundred or so are nothing. Then these
// alone are computed, and sums over the grid are geometric series; else all, and the sums are added up.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/privacy/accounting/pld_pmf.h"

namespace tessera::privacy::accounting::internal {

// Probabilities of the grid points from `lowest` on; `count` independent losses have these.
struct RingPart {
  std::vector<double> probs;
  int64_t lowest;
  int64_t count;
};

// Of the sum, whose probabilities P_m are those of the grid points first + m for 0 <= m < n, the
// rest folded in: the sums over m from m0 on of P_m exp(-theta (m - m0) interval), and of that times
// exp(-(m - m0) interval).
class RingTails {
 public:
  struct Tail {
    double upper, lower;
  };
  // n is at least `points`.
  RingTails(const std::vector<RingPart>& parts, int64_t first, int64_t points, double theta,
            double interval);
  int64_t size() const { return n_; }
  Tail operator()(int64_t m0) const;

 private:
  void from_all(const std::vector<RingPart>& parts, int64_t first);
  void from_low(const std::vector<RingPart>& parts, int64_t first, int64_t count,
                int64_t transform);

  int64_t n_;
  double theta_, interval_;
  std::vector<double> upper_, lower_;  // of every m0, where all coefficients are there
  struct Coefficient {
    double re, im;
  };
  std::vector<Coefficient> low_upper_, low_lower_;  // else: divided by 1 - the ratio of the series
};

}  // namespace tessera::privacy::accounting::internal
