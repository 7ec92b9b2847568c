// The events of whole training runs (jax_privacy.experimental.accounting), for any accountant.
#pragma once

#include <cstdint>

#include "tessera/privacy/accounting/dp_event.h"

namespace tessera::privacy::accounting {

struct DpsgdOptions {
  double sampling_prob;
};
// Returns the event of DP-SGD: each step is a Gaussian mechanism on a Poisson sample (Abadi et al.
// 2016).
DpEvent dpsgd_event(double noise_multiplier, int64_t iterations, const DpsgdOptions& options);

struct FixedDpsgdOptions {
  int64_t dataset_size;
  int64_t batch_size;
  bool replace = false;  // whether an example may be twice in a batch; no accountant supports it
};
// Returns the event of DP-SGD on batches of one size.
DpEvent fixed_dpsgd_event(double noise_multiplier, int64_t iterations,
                          const FixedDpsgdOptions& options);

struct TruncatedDpsgdOptions {
  double sampling_prob;
  int64_t num_examples;
  int64_t truncated_batch_size;
};
// Returns the event of DP-SGD whose Poisson samples are truncated to a largest batch; PldAccountant
// accounts for it.
DpEvent truncated_dpsgd_event(double noise_multiplier, int64_t iterations,
                              const TruncatedDpsgdOptions& options);

// Banded matrix factorisation with cyclic Poisson sampling (Choquette-Choo et al. 2023): the
// examples are in num_bands groups, and step t samples from group t mod num_bands. The noise
// multiplier is for a strategy matrix whose columns have an L2 norm of at most 1.
struct BandmfOptions {
  int64_t num_bands;
  double sampling_prob;  // of an example of the step's group
};
DpEvent amplified_bandmf_event(double noise_multiplier, int64_t iterations,
                               const BandmfOptions& options);

struct TruncatedBandmfOptions {
  int64_t num_bands;
  double sampling_prob;
  int64_t largest_group_size;
  int64_t truncated_batch_size;
};
DpEvent truncated_amplified_bandmf_event(double noise_multiplier, int64_t iterations,
                                         const TruncatedBandmfOptions& options);

}  // namespace tessera::privacy::accounting
