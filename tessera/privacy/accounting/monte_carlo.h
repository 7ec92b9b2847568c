// Samples of the privacy loss of ways to select batches that have no closed form, each with correlated
// noise (banded matrix factorisation): jax_privacy.experimental.monte_carlo. What they prove is said by
// delta_calculation.h.
//
// The strategy matrix C is lower triangular, banded and Toeplitz, with non-negative first column c_col;
// its bands see C x + N(0, noise_multiplier^2) for the steps x that have the example, or the noise alone.
// The relation is zero-out (add-or-remove too, without truncation).
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

// After a batch with the example come min_sep - 1 without it; otherwise it is sampled with sampling_prob
// (Choquette-Choo et al. 2026). A warm start is one from the stationary law. With a truncated batch size a
// batch keeps a random subset of that many; then dataset_size counts.
struct BMinSepLaw {
  double sampling_prob;
  int64_t iterations;
  int64_t min_sep;
  bool warm_start = true;
  std::optional<int64_t> truncated_batch_size = std::nullopt;
  int64_t dataset_size = 0;
};

// The example is in a random subset of `selections` batches (Feldman and Shenfeld 2025); one band alone.
struct RandomAllocationLaw {
  int64_t iterations;
  int64_t selections = 1;
};

// The example is in one of cycle_length groups, drawn for it alone, and with sampling_prob in each step of
// its group's turn (CyclicPoissonSampling with PartitionType::kIndependent; Choquette-Choo et al.,
// arXiv:2410.06266). At most cycle_length bands.
struct CyclicPoissonLaw {
  double sampling_prob;
  int64_t iterations;
  int64_t cycle_length = 1;
};

using SelectionLaw =
    std::variant<BallsInBinsLaw, BMinSepLaw, RandomAllocationLaw, CyclicPoissonLaw>;

struct MonteCarloOptions {
  double noise_multiplier;
  std::vector<double> c_col = {1.0};  // its first `iterations` entries count
  // Absent: drawn from the operating system's entropy.
  std::optional<uint64_t> seed = std::nullopt;
  bool positive_sample = true;  // from the run with the example; else from that without
};

// What a run shows of the example: an output for each step and, with truncation, how many others were
// sampled at each.
struct MonteCarloSample {
  std::vector<double> output;
  std::vector<int64_t> rest_batch_sizes;
};
std::vector<MonteCarloSample> generate_samples(const SelectionLaw& law, int64_t num_samples,
                                               const MonteCarloOptions& options);

// log of the densities of the run with the example over that without.
double compute_privacy_loss(const SelectionLaw& law, const MonteCarloSample& sample,
                            double noise_multiplier, std::span<const double> c_col);

// The losses of so many samples, of the sign that delta_from_epsilon_and_samples takes: the density of the
// run that was sampled from is above. Equal seeds give equal losses.
std::vector<double> privacy_loss_samples(const SelectionLaw& law, int64_t num_samples,
                                         const MonteCarloOptions& options);

}  // namespace tessera::privacy::accounting
