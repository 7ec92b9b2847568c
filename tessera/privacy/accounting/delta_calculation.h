// Computes the deltas that samples of a privacy loss prove
// (jax_privacy.experimental.monte_carlo.delta_calculation).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/privacy/accounting/pld.h"

namespace tessera::privacy::accounting {

// Returns the mean of max(0, 1 - exp(epsilon - loss)): an unbiased estimate of delta. Loss i counts
// counts[i] times, or once if `counts` is empty.
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

// These functions concern a procedure that verifies many mechanisms in order of privacy, each by an
// estimate of delta of at most base_delta, and runs the best (Choquette-Choo et al. 2026, appendix
// A). They return the delta of the whole procedure, and the base_delta or the number of samples for
// which it has a given delta. They throw UserError if no value has this delta.
double get_overall_delta(int64_t num_samples, double base_delta);
double get_base_delta(int64_t num_samples, double target_delta);
int64_t minimum_samples_to_calibrate(double base_delta, double target_delta);

// Samples of one mechanism's losses, drawn from runs with the example and, if these may be worse,
// also from runs without it.
struct VerificationSamples {
  std::vector<double> positive;
  std::vector<double> negative = {};
  // Other mechanisms that read the data when this one runs.
  std::optional<PldAccountant> other = std::nullopt;
};
struct Verification {
  bool passes;        // whether some mechanism is verified
  size_t index;       // the last verified mechanism, which is the one to run
  double base_delta;  // if none passes, what a fallback must satisfy
};
// Verifies mechanisms from the most private to the least (algorithm 5 of the same paper). The
// smallest of their numbers of samples counts for all.
Verification perform_calibration_from_samples(double epsilon, double delta,
                                              std::span<const VerificationSamples> mechanisms);

}  // namespace tessera::privacy::accounting
