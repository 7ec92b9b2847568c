// The noise, the length or the batch size of a training run that spends a given epsilon
// (jax_privacy.accounting): what a guarantee never exceeds.
#pragma once

#include <cstdint>

#include "tessera/privacy/accounting/training.h"

namespace tessera::privacy::accounting {

struct CalibrateOptions {
  double target_epsilon;
  DpTrainingAccountant accountant = DpsgdTrainingAccountant{};
  double tolerance = 0.01;  // of the noise multiplier; the others are integers, and exact
};

// The least noise multiplier, to the tolerance, never less, of a run of num_updates with these params,
// whose own noise_multipliers are not read.
double calibrate_noise_multiplier(int64_t num_updates, DpParams params,
                                  const CalibrateOptions& options);

// The most updates, at least 1. With a cycle_length it is the next multiple of it, which costs no more.
int64_t calibrate_num_updates(const DpParams& params, const CalibrateOptions& options);

// The largest batch: at least 1, at most all samples (of one group of the cycle).
int64_t calibrate_batch_size(int64_t num_updates, DpParams params, const CalibrateOptions& options);

}  // namespace tessera::privacy::accounting
