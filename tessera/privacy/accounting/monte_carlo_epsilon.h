// The epsilon that samples of the privacy loss prove, with how sure the proof is. Between
// monte_carlo.h, which samples losses, delta_calculation.h, which says what they prove of a delta,
// and plans.
//
//   const MonteCarloEpsilon proven = monte_carlo_epsilon(BallsInBinsLaw{1000, 10},
//       {.noise_multiplier = 2, .delta = 1e-3, .samples = 100'000, .failure_probability = 1e-5});
//   proven.epsilon, proven.confidence;  // epsilon at delta 1e-3, at a confidence of 0.99998
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/privacy/accounting/monte_carlo.h"

namespace tessera::privacy::accounting {

// An epsilon that random samples prove: with probability `confidence` over the samples the
// mechanism is (epsilon, delta)-differentially private. No number of samples proves it for certain.
struct MonteCarloEpsilon {
  double epsilon = 0;
  double delta = 0;
  double confidence = 0;
  int64_t samples = 0;  // of each direction
  uint64_t seed = 0;    // with which the samples are drawn again
  bool operator==(const MonteCarloEpsilon&) const = default;
};

struct MonteCarloEpsilonOptions {
  double noise_multiplier;
  std::vector<double> c_col = {1.0};
  double delta;                       // in (0, 1)
  int64_t samples = 100'000;          // at least some -log(failure_probability) / delta
  double failure_probability = 0.01;  // of either direction; in (0, 1)
  // Absent: drawn from the operating system's entropy.
  std::optional<uint64_t> seed = std::nullopt;
};

// Returns the least epsilon that the samples prove, of the run with the example against that
// without and the other way round. UserError: numbers outside their range, too few samples to prove
// the delta, and those of privacy_loss_samples.
MonteCarloEpsilon monte_carlo_epsilon(const SelectionLaw& law,
                                      const MonteCarloEpsilonOptions& options);

// Returns 64 bits of the operating system's entropy.
uint64_t seed_of_entropy();

}  // namespace tessera::privacy::accounting
