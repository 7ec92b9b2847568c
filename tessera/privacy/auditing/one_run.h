// Auditing by one run: each of m canaries is held in with probability 1/2, and an attack guesses of
// some that they are. Many right guesses exclude small epsilons. Internal to auditing/.
#pragma once

#include <cstdint>

namespace tessera::privacy::auditing::internal {

struct Guesses {
  int64_t canaries, guesses, correct;
};

// Returns a bound of the probability that as many guesses or more are right after any (epsilon,
// delta)-DP training (Steinke, Nasr and Jagielski, arXiv 2305.08846, Theorem 5.2 with k- = 0).
double one_run_p_value(const Guesses& g, double epsilon, double delta);

// Returns the largest epsilon >= `least` that the guesses exclude; `least` if they exclude none.
double epsilon_one_run(const Guesses& g, double least, double significance, double delta);
// Returns the same for a Gaussian mechanism, which its (epsilon, delta) determines completely
// (Mahloujifar, Melis and Chaudhuri, arXiv 2410.22235, Algorithm 3).
double epsilon_one_run_fdp(const Guesses& g, double least, double significance, double delta);

}  // namespace tessera::privacy::auditing::internal
