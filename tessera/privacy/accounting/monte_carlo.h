// Samples of privacy losses that have no closed form: those of several methods of selecting
// batches, each with correlated noise (banded matrix factorisation). This is
// jax_privacy.experimental.monte_carlo. delta_calculation.h computes the deltas that the samples
// prove.
//
// The strategy matrix C is lower triangular, banded and Toeplitz, with a non-negative first column
// c_col. With the example the mechanism releases C x + N(0, noise_multiplier^2), where x is 1 for
// the steps that use the example and 0 for the others; without it the noise alone. The neighbouring
// relation is zero-out; without truncation the losses are also those of add-or-remove.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace tessera::privacy::accounting {

// The example is in every cycle_length-th batch, from a random one on (Chua et al. 2024).
struct BallsInBinsLaw {
  int64_t iterations;
  int64_t cycle_length;
};

// A batch with the example is followed by min_sep - 1 batches without it; otherwise it is sampled
// with sampling_prob (Choquette-Choo et al. 2026). A warm start begins in the stationary law. With
// a truncated_batch_size a batch keeps a random subset of that many examples; only then is
// dataset_size read.
struct BMinSepLaw {
  double sampling_prob;
  int64_t iterations;
  int64_t min_sep;
  bool warm_start = true;
  std::optional<int64_t> truncated_batch_size = std::nullopt;
  int64_t dataset_size = 0;
};

// The example is in a random subset of `selections` batches (Feldman and Shenfeld 2025). It
// supports one band only.
struct RandomAllocationLaw {
  int64_t iterations;
  int64_t selections = 1;
};

// The example is in one of cycle_length groups, drawn independently of other examples, and is
// sampled with sampling_prob in each step of its group (CyclicPoissonSampling with
// PartitionType::kIndependent; Choquette-Choo et al., arXiv:2410.06266). It supports at most
// cycle_length bands.
struct CyclicPoissonLaw {
  double sampling_prob;
  int64_t iterations;
  int64_t cycle_length = 1;
};

using SelectionLaw =
    std::variant<BallsInBinsLaw, BMinSepLaw, RandomAllocationLaw, CyclicPoissonLaw>;

struct MonteCarloOptions {
  double noise_multiplier;
  std::vector<double> c_col = {1.0};  // only its first `iterations` entries are read
  // If absent, it is drawn from the operating system's entropy.
  std::optional<uint64_t> seed = std::nullopt;
  // Whether to sample from the run with the example, or from the one without.
  bool positive_sample = true;
};

// The values that a run reveals about the example: an output for each step and, with truncation,
// the number of other examples that each step sampled.
struct MonteCarloSample {
  std::vector<double> output;
  std::vector<int64_t> rest_batch_sizes;
};
std::vector<MonteCarloSample> generate_samples(const SelectionLaw& law, int64_t num_samples,
                                               const MonteCarloOptions& options);

// Returns the logarithm of the density of the run with the example divided by that of the run
// without.
double compute_privacy_loss(const SelectionLaw& law, const MonteCarloSample& sample,
                            double noise_multiplier, std::span<const double> c_col);

// Returns the losses of so many samples, with the sign that delta_from_epsilon_and_samples expects:
// the numerator is the density of the run that was sampled from. Equal seeds return equal losses.
std::vector<double> privacy_loss_samples(const SelectionLaw& law, int64_t num_samples,
                                         const MonteCarloOptions& options);

}  // namespace tessera::privacy::accounting
