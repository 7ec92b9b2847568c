// Epsilons of plans whose sampler has no closed form, by samples of the privacy loss. Only plan.cc
// uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/privacy/accounting/delta_table.h"
#include "tessera/privacy/accounting/monte_carlo_epsilon.h"
#include "tessera/privacy/batch_selection/sampling_description.h"

namespace tessera::privacy::internal {

struct SampledRun {
  batch_selection::SamplingDescription sampling;
  std::vector<double> strategy;  // the first column of the Toeplitz strategy
  double delta;
  int64_t samples;
  uint64_t seed;
  std::shared_ptr<accounting::internal::DeltaTable> other = nullptr;  // those of other releases
};

// sampled_epsilon() returns an epsilon of the first `steps` steps, for noise of this standard
// deviation with a clip norm of 1. It is valid at the run's delta, which includes the probability
// that the samples mislead: each of kMaxTries attempts fails with probability delta / 100, and
// proves a delta of (1 - kMaxTries / 100) delta. `attempt` is the number of the attempt, which has
// samples of its own. Throws UserError unless there are enough samples for delta.
constexpr int64_t kMaxTries = 8;
accounting::MonteCarloEpsilon sampled_epsilon(const SampledRun& run, int64_t steps, double noise,
                                              int64_t attempt);

// A standard deviation of the noise, found by one set of samples, and the epsilon that other
// samples prove for it, which is not above the target.
struct SampledNoise {
  double noise;
  accounting::MonteCarloEpsilon proven;
};
SampledNoise sampled_noise(const SampledRun& run, double target_epsilon);

}  // namespace tessera::privacy::internal
