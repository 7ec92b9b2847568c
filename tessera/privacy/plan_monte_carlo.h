// Epsilons of plans whose sampler has no closed form, by samples of the privacy loss. For plan.cc.
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
  std::shared_ptr<accounting::internal::DeltaTable> other = nullptr;  // of what else is released
};

// An epsilon of the first `steps` steps, at noise of this deviation for a clip norm of 1. It holds at
// `delta`, into which the chance counts that the samples mislead: each of kMaxTries answers fails with
// delta / 100, and what they prove is a delta of 1 - kMaxTries / 100 of it. `attempt` is one of these, with
// samples of its own. UserError unless there are enough samples for delta.
constexpr int64_t kMaxTries = 8;
accounting::MonteCarloEpsilon sampled_epsilon(const SampledRun& run, int64_t steps, double noise,
                                              int64_t attempt);

// A deviation of the noise, found by samples of its own, and what others prove of it: an epsilon that is
// not above the target.
struct SampledNoise {
  double noise;
  accounting::MonteCarloEpsilon proven;
};
SampledNoise sampled_noise(const SampledRun& run, double target_epsilon);

}  // namespace tessera::privacy::internal
