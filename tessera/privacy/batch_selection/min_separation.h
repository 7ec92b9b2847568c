// b-min-sep sampling, example by example: an example is sampled with probability p in every step,
// unless it was sampled in one of the min_sep - 1 steps before. For source files of privacy/.
//
// Whether step s would sample example i is a coin, a function of (key, s, i); the state is the step
// from which each example may be sampled again. To find it at a step without computing all steps
// before, the coins of some steps before are run from every possible state: where they lead all of
// them to one state, it is the true one. This is coupling from the past (Propp and Wilson, 1996).
// Otherwise the run begins twice as far back, at most at the first step, where the state is drawn.
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

  // Returns the examples sampled in this step, in increasing order. Steps in order cost one coin
  // for each example.
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
  int64_t next_ = 0;               // the step of eligible_
  std::vector<int64_t> eligible_;  // the first step in which each example may be sampled
};

}  // namespace tessera::privacy::batch_selection::internal
