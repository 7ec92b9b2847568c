// The noise, the length or the batch size of a training run whose epsilon comes as close to a given
// one as it can without exceeding it (jax_privacy.accounting).
#pragma once

#include <cstdint>

#include "tessera/privacy/accounting/training.h"

namespace tessera::privacy::accounting {

struct CalibrateOptions {
  double target_epsilon;
  DpTrainingAccountant accountant = DpsgdTrainingAccountant{};
  double tolerance = 0.01;  // of the noise multiplier; the other results are exact integers
};

// Returns the least noise multiplier of a run of num_updates with these params: the result is above
// it by up to the tolerance, never below. The params' own noise_multipliers are not read.
double calibrate_noise_multiplier(int64_t num_updates, DpParams params,
                                  const CalibrateOptions& options);

// Returns the largest number of updates, at least 1. With a cycle_length it is rounded up to a
// multiple of that, which costs no more.
int64_t calibrate_num_updates(const DpParams& params, const CalibrateOptions& options);

// Returns the largest batch size: at least 1, at most the number of samples (in one group, if there
// is a cycle).
int64_t calibrate_batch_size(int64_t num_updates, DpParams params, const CalibrateOptions& options);

}  // namespace tessera::privacy::accounting
