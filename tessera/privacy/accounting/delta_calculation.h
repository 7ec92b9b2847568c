// What samples of a privacy loss prove (jax_privacy.experimental.monte_carlo.delta_calculation).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/privacy/accounting/pld.h"

namespace tessera::privacy::accounting {

// Returns the mean of max(0, 1 - exp(epsilon - loss)): an unbiased estimate of delta. Loss i counts
// counts[i] times, or once without counts.
double delta_from_epsilon_and_samples(double epsilon, std::span<const double> losses,
                                      std::span<const double> counts = {});

// Returns the same estimate for the composition of the mechanism with these losses and all that
// `other` composed: the mean of other's delta at epsilon - loss, since the loss of both is the sum
// of two independent ones. The worse of the two directions of `other` counts. Each loss costs an
// evaluation of other.get_delta.
double delta_from_epsilon_and_samples(double epsilon, std::span<const double> losses,
                                      const PldAccountant& other,
                                      std::span<const double> counts = {});

// Returns the largest delta that so many samples with this mean do not refute, except with this
// probability. It may be reported as the delta of one mechanism (Hoeffding 1963, with the
// divergence of Bernoulli laws).
double delta_upper_bound(double estimate, int64_t num_samples, double failure_probability);

// For the procedure that verifies many mechanisms in order of privacy to have an estimate of at
// most base_delta, and runs the best: the delta of the whole (Choquette-Choo et al. 2026, appendix
// A), and the base_delta or the number of samples for a given delta. Throws UserError where there
// is none.
double get_overall_delta(int64_t num_samples, double base_delta);
double get_base_delta(int64_t num_samples, double target_delta);
int64_t minimum_samples_to_calibrate(double base_delta, double target_delta);

// Samples of one mechanism's losses, drawn with the example and (where that may be worse) without
// it.
struct VerificationSamples {
  std::vector<double> positive;
  std::vector<double> negative = {};
  // Other mechanisms that read the data when this one runs.
  std::optional<PldAccountant> other = std::nullopt;
};
struct Verification {
  bool passes;        // some mechanism is verified
  size_t index;       // the last verified mechanism, which is the one to run
  double base_delta;  // if none passes, what a fallback must satisfy
};
// Verifies mechanisms from the most private to the least (their algorithm 5). The smallest of their
// numbers of samples counts for all.
Verification perform_calibration_from_samples(double epsilon, double delta,
                                              std::span<const VerificationSamples> mechanisms);

}  // namespace tessera::privacy::accounting
