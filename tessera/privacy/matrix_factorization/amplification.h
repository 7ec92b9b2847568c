// Chooses the number of bands for a privacy target: with few bands, sampling amplifies privacy
// more; with many, the noise is correlated better (arXiv:2306.08153, Theorem 4). The dataset is
// split into as many parts as there are bands, and iteration i draws a Poisson batch from part i
// modulo bands, so that a user's participations are that far apart.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/privacy/matrix_factorization/reduction.h"
#include "tessera/privacy/matrix_factorization/toeplitz.h"

namespace tessera::privacy::matrix_factorization::toeplitz {

// A function that returns the noise multiplier with which `count` Gaussian mechanisms on Poisson
// samples of this probability meet the privacy target: a calibration of
// tessera::privacy::accounting.
using NoiseMultiplier = std::function<double(double sampling_probability, int64_t count)>;

struct AmplificationOptions {
  int64_t n = 0;
  int64_t dataset_size = 0;
  int64_t expected_batch_size = 0;
  NoiseMultiplier noise_multiplier = {};
  // The candidate numbers of bands. If empty, they are the divisors of dataset_size, up to n, for
  // which a part has at least expected_batch_size examples.
  std::vector<int64_t> bands = {};
  int64_t max_optimizer_steps = 250;
  Reduction reduction = mean_error;
};

struct AmplifiedStrategy {
  Coefs coefs;        // first column of C, of norm 1, with an entry for each band
  double stddev = 0;  // of the noise before it is correlated
  double loss = 0;    // the root of the reduced error of the average gradients' prefix sums
};
// Returns one strategy for each candidate, in their order.
std::vector<AmplifiedStrategy> strategies_for_bands(const AmplificationOptions& options);
// Returns the strategy with the smallest loss.
AmplifiedStrategy optimize_coefs_for_amplifications(const AmplificationOptions& options);

}  // namespace tessera::privacy::matrix_factorization::toeplitz
