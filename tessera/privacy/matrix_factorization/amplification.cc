#include "tessera/privacy/matrix_factorization/amplification.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/format.h"

namespace tessera::privacy::matrix_factorization::toeplitz {
namespace {

constexpr const char* kAmplificationOp = "privacy::toeplitz::optimize_coefs_for_amplifications";

void check(const AmplificationOptions& options) {
  const auto& [n, size, batch, multiplier, bands, steps, reduction] = options;
  if (n < 1) value_error(kAmplificationOp, "expected n of at least 1, got {}", n);
  if (batch < 1 || batch > size)
    value_error(kAmplificationOp,
                "expected an expected_batch_size between 1 and dataset_size = {}, got {}", size,
                batch);
  if (!multiplier)
    value_error(kAmplificationOp,
                "expected a noise_multiplier, got none; calibrate one for the privacy target");
  const int64_t most = std::min(n, size / batch);
  for (int64_t b : bands)
    if (b < 1 || b > most)
      value_error(kAmplificationOp,
                  "expected bands between 1 and min(n, dataset_size / expected_batch_size) = "
                  "{}, got {}",
                  most, b);
}

std::vector<int64_t> candidates(const AmplificationOptions& options) {
  if (!options.bands.empty()) return options.bands;
  std::vector<int64_t> out;
  const int64_t most = std::min(options.n, options.dataset_size / options.expected_batch_size);
  for (int64_t b = 1; b <= most; ++b)
    if (options.dataset_size % b == 0) out.push_back(b);
  return out;
}

// Returns the noise multiplier for this number of bands. The size of a part is rounded down, which
// increases the probability, and the number of participations is rounded up: both err to the safe
// side.
double noise_multiplier(const AmplificationOptions& options, int64_t bands) {
  const int64_t part = options.dataset_size / bands;
  const int64_t count = options.n / bands + (options.n % bands == 0 ? 0 : 1);
  const double probability =
      static_cast<double>(options.expected_batch_size) / static_cast<double>(part);
  const double out = options.noise_multiplier(probability, count);
  if (!(out >= 0) || !std::isfinite(out))
    value_error(kAmplificationOp,
                "expected a noise_multiplier of at least 0 for a sampling probability of {} "
                "and {} participations, got {}",
                probability, count, out);
  return out;
}

AmplifiedStrategy strategy_for(const AmplificationOptions& options, int64_t bands) {
  AmplifiedStrategy out;
  out.coefs = optimize_banded_toeplitz({.n = options.n,
                                        .bands = bands,
                                        .max_optimizer_steps = options.max_optimizer_steps,
                                        .reduction = options.reduction});
  const double multiplier = noise_multiplier(options, bands);
  out.stddev = multiplier * std::sqrt(sensitivity_squared(out.coefs));
  out.loss = std::sqrt(loss(out.coefs, options.n, options.reduction)) * multiplier /
             static_cast<double>(options.expected_batch_size);
  return out;
}

}  // namespace

std::vector<AmplifiedStrategy> strategies_for_bands(const AmplificationOptions& options) {
  check(options);
  std::vector<AmplifiedStrategy> out;
  for (int64_t bands : candidates(options)) out.push_back(strategy_for(options, bands));
  return out;
}

AmplifiedStrategy optimize_coefs_for_amplifications(const AmplificationOptions& options) {
  const std::vector<AmplifiedStrategy> all = strategies_for_bands(options);
  return *std::min_element(all.begin(), all.end(),
                           [](const auto& a, const auto& b) { return a.loss < b.loss; });
}

}  // namespace tessera::privacy::matrix_factorization::toeplitz
