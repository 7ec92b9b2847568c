// What samples of a privacy loss prove (jax_privacy.experimental.monte_carlo.delta_calculation).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/privacy/accounting/pld.h"

namespace tessera::privacy::accounting {

// The mean of max(0, 1 - exp(epsilon - loss)): an estimate of delta, without bias. Each loss counts
// counts[i] times, or once.
double delta_from_epsilon_and_samples(double epsilon, std::span<const double> losses,
                                      std::span<const double> counts = {});

// The same of the composition of the mechanism whose losses these are with all that `other` composed: the mean
// of other's delta at epsilon - loss, as the loss of both is the sum of two independent ones. Of the two
// directions of `other` the worse counts. Each loss costs an evaluation of other.get_delta.
double delta_from_epsilon_and_samples(double epsilon, std::span<const double> losses,
                                      const PldAccountant& other,
                                      std::span<const double> counts = {});

// The largest delta that so many samples of this mean do not refute, but with this probability: what may
// be reported of one mechanism (Hoeffding 1963, by the divergence of Bernoulli laws).
double delta_upper_bound(double estimate, int64_t num_samples, double failure_probability);

// Where many mechanisms in order of privacy are verified to have an estimate of at most base_delta, and
// the best is run: the delta of the whole (Choquette-Choo et al. 2026, appendix A), and the base_delta or
// the number of samples for a given one. A UserError where there is none.
double get_overall_delta(int64_t num_samples, double base_delta);
double get_base_delta(int64_t num_samples, double target_delta);
int64_t minimum_samples_to_calibrate(double base_delta, double target_delta);

// The losses of one mechanism, sampled with the example and (where that may be worse) without.
struct VerificationSamples {
  std::vector<double> positive;
  std::vector<double> negative = {};
  // What else touches the data when this mechanism runs.
  std::optional<PldAccountant> other = std::nullopt;
};
struct Verification {
  bool passes;        // some mechanism is verified
  size_t index;       // the last of these, the one to run
  double base_delta;  // where none passes, what a fallback must satisfy
};
// Of mechanisms from the most private to the least (their algorithm 5). The least number of samples counts
// for all.
Verification perform_calibration_from_samples(double epsilon, double delta,
                                              std::span<const VerificationSamples> mechanisms);

}  // namespace tessera::privacy::accounting
