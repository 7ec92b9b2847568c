// Auditing by one run: m canaries, each held in with probability 1/2, and an attack that guesses
// some of them to be. How large an epsilon the right guesses exclude. For source files of privacy/.
#pragma once

#include <cstdint>

namespace tessera::privacy::auditing::internal {

struct Guesses {
  int64_t canaries, guesses, correct;
};

// The probability of as many right guesses or more, of any (epsilon, delta)-DP training, at most
// (Steinke, Nasr and Jagielski, arXiv 2305.08846, Theorem 5.2 with k- = 0).
double one_run_p_value(const Guesses& g, double epsilon, double delta);

// The largest epsilon >= `least` that the guesses exclude; `least` if they exclude none.
double epsilon_one_run(const Guesses& g, double least, double significance, double delta);
// Of the Gaussian mechanism with this (epsilon, delta) (Mahloujifar, Melis and Chaudhuri, arXiv
// 2410.22235, Algorithm 3).
double epsilon_one_run_fdp(const Guesses& g, double least, double significance, double delta);

}  // namespace tessera::privacy::auditing::internal
