// b-min-sep sampling, example by example: an example is sampled with probability p in every step,
// unless it was sampled in one of the min_sep - 1 steps before. Internal to privacy/.
//
// A coin, which is a function of (key, s, i), decides whether step s samples example i if it may.
// The state of an example is the step from which on it may be sampled again. The state at a step is
// computed without running all steps before it: the coins of some earlier steps are applied to
// every possible state. If all of these lead to one state, it is the true one. This is coupling
// from the past (Propp and Wilson, 1996). Otherwise the run begins twice as far back, at most at
// the first step, for which the state is drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/privacy/batch_selection/bernoulli.h"

namespace tessera::privacy::batch_selection::internal {

struct MinSeparation {
  int64_t num_examples;
  double sampling_prob;
  int64_t min_sep;
  bool warm_start;
};

class MinSeparationProcess {
 public:
  MinSeparationProcess(const MinSeparation& law, const CounterStream& start,
                       const CounterStream& coins);

  // Returns the examples sampled in this step, in increasing order. If steps are asked for in
  // order, each costs one coin for each example.
  std::vector<int64_t> sampled(int64_t step);

 private:
  Bernoulli coins_of(int64_t step) const;
  std::vector<int64_t> advance(int64_t step);
  void seek(int64_t step);
  std::vector<int64_t> initial_states(int64_t first, int64_t last) const;
  void find_states(int64_t first, int64_t last, int64_t step);
  bool couple(int64_t first, int64_t last, int64_t from, int64_t step);
  void replay(int64_t first, int64_t last, int64_t step);
  void rotate(int64_t first, int64_t last, int64_t step);

  const MinSeparation law_;
  const CounterStream start_, coins_;
  int64_t next_ = 0;               // the step for which eligible_ holds
  std::vector<int64_t> eligible_;  // the first step in which each example may be sampled
};

}  // namespace tessera::privacy::batch_selection::internal
