#include "tessera/privacy/accounting/events.h"

#include "tessera/base/format.h"

namespace tessera::privacy::accounting {

namespace {

DpEvent repeated(DpEvent event, int64_t iterations) {
  DpEvent out = SelfComposedDpEvent{std::move(event), iterations};
  validate(out);
  return out;
}

// Returns the largest number of iterations that sample from the same group.
int64_t rounds(int64_t iterations, int64_t num_bands) {
  if (num_bands < 1)
    value_error("privacy::amplified_bandmf_event",
                "expected at least one band, got {}; 1 is DP-SGD", num_bands);
  return iterations / num_bands + (iterations % num_bands > 0);
}

}  // namespace

DpEvent dpsgd_event(double noise_multiplier, int64_t iterations, const DpsgdOptions& options) {
  return repeated(PoissonSampledDpEvent{options.sampling_prob, GaussianDpEvent{noise_multiplier}},
                  iterations);
}

DpEvent fixed_dpsgd_event(double noise_multiplier, int64_t iterations,
                          const FixedDpsgdOptions& options) {
  const GaussianDpEvent gaussian{noise_multiplier};
  if (options.replace)
    return repeated(
        SampledWithReplacementDpEvent{options.dataset_size, options.batch_size, gaussian},
        iterations);
  return repeated(
      SampledWithoutReplacementDpEvent{options.dataset_size, options.batch_size, gaussian},
      iterations);
}

DpEvent truncated_dpsgd_event(double noise_multiplier, int64_t iterations,
                              const TruncatedDpsgdOptions& options) {
  return repeated(
      TruncatedSubsampledGaussianDpEvent{options.num_examples, options.sampling_prob,
                                         options.truncated_batch_size, noise_multiplier},
      iterations);
}

DpEvent amplified_bandmf_event(double noise_multiplier, int64_t iterations,
                               const BandmfOptions& options) {
  return dpsgd_event(noise_multiplier, rounds(iterations, options.num_bands),
                     {.sampling_prob = options.sampling_prob});
}

DpEvent truncated_amplified_bandmf_event(double noise_multiplier, int64_t iterations,
                                         const TruncatedBandmfOptions& options) {
  return truncated_dpsgd_event(noise_multiplier, rounds(iterations, options.num_bands),
                               {.sampling_prob = options.sampling_prob,
                                .num_examples = options.largest_group_size,
                                .truncated_batch_size = options.truncated_batch_size});
}

}  // namespace tessera::privacy::accounting
