// The epsilon that samples of the privacy loss prove, and the confidence of the proof. Plans use
// it. It uses monte_carlo.h, which samples losses, and delta_calculation.h, which computes the
// deltas that they prove.
//
//   const MonteCarloEpsilon proven = monte_carlo_epsilon(BallsInBinsLaw{1000, 10},
//       {.noise_multiplier = 2, .delta = 1e-3, .samples = 100'000, .failure_probability = 1e-5});
//   proven.epsilon, proven.confidence;  // epsilon at delta 1e-3, at a confidence of 0.99998
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/privacy/accounting/monte_carlo.h"
#include "tessera/privacy/accounting/pld.h"

namespace tessera::privacy::accounting {

// An epsilon that random samples prove: with probability `confidence` over the samples the
// mechanism is (epsilon, delta)-differentially private. No number of samples proves it for certain.
struct MonteCarloEpsilon {
  double epsilon = 0;
  double delta = 0;
  double confidence = 0;
  int64_t samples = 0;  // of each direction
  uint64_t seed = 0;    // the seed from which the same samples can be drawn again
  bool operator==(const MonteCarloEpsilon&) const = default;
};

struct MonteCarloEpsilonOptions {
  double noise_multiplier;
  std::vector<double> c_col = {1.0};
  double delta;                       // in (0, 1)
  int64_t samples = 100'000;          // at least about -log(failure_probability) / delta
  double failure_probability = 0.01;  // of each direction; in (0, 1)
  // If absent, it is drawn from the operating system's entropy.
  std::optional<uint64_t> seed = std::nullopt;
  // Other releases of the same data. If given, epsilon is that of the composition with everything
  // that this accountant composed.
  std::optional<PldAccountant> other = std::nullopt;
};

// Returns the least epsilon that the samples prove in both directions, of the run with the example
// against the one without it, and of the reverse. It is infinite if `other` alone does not reach
// delta. Throws UserError for numbers outside their range, for too few samples to prove the delta,
// and as privacy_loss_samples does.
MonteCarloEpsilon monte_carlo_epsilon(const SelectionLaw& law,
                                      const MonteCarloEpsilonOptions& options);

namespace internal {
class DeltaTable;  // delta_table.h
// Returns the same, and ignores options.other: `other` has the deltas of the other releases (null
// if there are none). Several calls may share it.
MonteCarloEpsilon monte_carlo_epsilon(const SelectionLaw& law,
                                      const MonteCarloEpsilonOptions& options, DeltaTable* other);
}  // namespace internal

// Returns 64 bits of the operating system's entropy.
uint64_t seed_of_entropy();

}  // namespace tessera::privacy::accounting
