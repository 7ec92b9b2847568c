// The tail probabilities of a sum of many independent losses on a ring of n grid points, computed
// from its Fourier coefficients. Only pld_composition.cc uses it.
//
// A sum of many losses is smooth: its coefficients beyond the first hundred or so are negligible.
// Then only these are computed, and sums over the grid are geometric series. Otherwise all are
// computed, and the sums are added up.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/privacy/accounting/pld_pmf.h"

namespace tessera::privacy::accounting::internal {

// The distribution of each of `count` independent losses: probs[i] is the probability of grid point
// lowest + i.
struct RingPart {
  std::vector<double> probs;
  int64_t lowest;
  int64_t count;
};

// The tail sums of a sum of losses on a ring of n points. Let P_m be the probability that the sum
// is at grid point first + m, 0 <= m < n, where points outside of the ring are folded into it. The
// call (m0) returns two sums over m >= m0: `upper` of P_m exp(-theta (m - m0) interval), and
// `lower` of the same terms times exp(-(m - m0) interval).
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
  std::vector<double> upper_, lower_;  // for every m0, if all coefficients were computed
  struct Coefficient {
    double re, im;
  };
  // Otherwise: the first coefficients, each divided by 1 - the ratio of its geometric series.
  std::vector<Coefficient> low_upper_, low_lower_;
};

}  // namespace tessera::privacy::accounting::internal
