// Auditing by one run: m canaries are each held in with probability 1/2, and an attack guesses that
// some of them are. The right guesses exclude small epsilons. For source files of privacy/.
#pragma once

#include <cstdint>

namespace tessera::privacy::auditing::internal {

struct Guesses {
  int64_t canaries, guesses, correct;
};

// Returns the probability, at most, of as many right guesses or more after any (epsilon, delta)-DP
// training (Steinke, Nasr and Jagielski, arXiv 2305.08846, Theorem 5.2 with k- = 0).
double one_run_p_value(const Guesses& g, double epsilon, double delta);

// Returns the largest epsilon >= `least` that the guesses exclude; `least` if they exclude none.
double epsilon_one_run(const Guesses& g, double least, double significance, double delta);
// Returns that of the Gaussian mechanism with this (epsilon, delta) (Mahloujifar, Melis and
// Chaudhuri, arXiv 2410.22235, Algorithm 3).
double epsilon_one_run_fdp(const Guesses& g, double least, double significance, double delta);

}  // namespace tessera::privacy::auditing::internal
