// Privacy loss distributions (Meiser and Mohammadi 2018; Koskela et al. 2020): the guarantee of
// composed mechanisms, as accurate as a grid of losses allows, and never better than the true one.
// Losses are rounded as in "Connect the Dots" (Doroshenko et al. 2022), so that values are
// dp_accounting's.
//
//   const auto pld = from_gaussian_mechanism(1.0, {.sampling_prob = 0.01}).self_compose(1000);
//   pld.get_epsilon_for_delta(1e-5);  // 1.82824...
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/privacy/accounting/dp_event.h"
#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy::accounting {

namespace internal {
struct PldPmf;
struct PldCache;
}  // namespace internal

// The distributions of the privacy loss in both directions of a neighbouring relation, of one
// mechanism or of a composition. It is a value: composing copies references, and the convolution is
// computed when epsilon or delta is asked for.
class PrivacyLossDistribution {
 public:
  PrivacyLossDistribution() = default;  // of a mechanism that does not read the data

  // Returns the composition. Both must have been made with the same interval.
  PrivacyLossDistribution compose(const PrivacyLossDistribution& other) const;
  PrivacyLossDistribution self_compose(int64_t num_times) const;

  // Returns the least delta for an epsilon (of any sign), which is never below the probability of
  // the truncated losses (PldOptions::log_truncation_mass). get_epsilon_for_delta() returns the
  // least epsilon, not negative, for a delta. A delta of 0 has an infinite epsilon, except with
  // Laplace noise alone. Throws UserError if delta is above 0 and not above the truncated
  // probability.
  double get_delta_for_epsilon(double epsilon) const;
  double get_epsilon_for_delta(double delta) const;

  // Constructs one mechanism from its two directions. For the functions below.
  struct Part {
    std::shared_ptr<const internal::PldPmf> remove, add;  // the same object if both are equal
    int64_t count;
  };
  explicit PrivacyLossDistribution(std::vector<Part> parts) : parts_(std::move(parts)) {}
  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
};

// A smaller interval is more accurate and slower. A mechanism may have at most 2^26 grid points.
struct PldOptions {
  double value_discretization_interval = 1e-4;
  double sampling_prob = 1;  // of Poisson sampling
  NeighboringRelation neighboring_relation = NeighboringRelation::kAddOrRemoveOne;
  // The logarithm, in [-700, -10], of the probability of the losses that are truncated on either
  // side. Those above the range count as infinite. For the epsilon at a delta it should be well
  // below log(delta / compositions).
  double log_truncation_mass = -50;
};

// Return the PLD of a mechanism. Its noise multiplier is in units of the largest norm of a value.
// kReplaceOne is supported for Gaussian and truncated mechanisms only.
PrivacyLossDistribution from_gaussian_mechanism(double noise_multiplier,
                                                const PldOptions& options = {});
PrivacyLossDistribution from_laplace_mechanism(double noise_multiplier,
                                               const PldOptions& options = {});
PrivacyLossDistribution from_discrete_laplace_mechanism(double noise_parameter,
                                                        int64_t sensitivity = 1,
                                                        const PldOptions& options = {});
// These two ignore options.sampling_prob.
PrivacyLossDistribution from_mixture_gaussian_mechanism(const MixtureOfGaussiansDpEvent& event,
                                                        const PldOptions& options = {});
PrivacyLossDistribution from_truncated_subsampled_gaussian_mechanism(
    const TruncatedSubsampledGaussianDpEvent& event, const PldOptions& options = {});

// Composes events. It supports Gaussian, Laplace, discrete Laplace, mixture and truncated events,
// and Poisson-sampled Gaussian and Laplace events; under kReplaceOne only events of Gaussian
// mechanisms. Gaussian mechanisms on samples without replacement are accounted for by one pair of
// distributions that dominates at every epsilon in both directions, as event_loss.cc proves.
//
// Losses that are too improbable to matter for the delta are truncated, so that epsilons are
// finite, and have the same number of correct digits, for every delta down to 1e-297 times the
// number of compositions; a smaller delta, except 0, is an error. (With Gaussian mechanisms alone
// every delta has its epsilon.)
//
// Gaussian mechanisms are composed to one, without a grid; if nothing else was composed, the result
// is exact. If losses are so large that a grid of the given interval would exceed a million points
// (two million for the sum), the interval is doubled until it does not.
//
// Copies share the distributions that they make of events. So if several runs have the same events,
// compose each run to a copy of one accountant.
class PldAccountant {
 public:
  explicit PldAccountant(NeighboringRelation relation = NeighboringRelation::kAddOrRemoveOne,
                         double value_discretization_interval = 1e-4);

  NeighboringRelation neighboring_relation() const { return relation_; }
  // Returns why an event that is not a composition is not supported; an empty text if it is.
  std::string unsupported(const DpEvent& leaf) const;
  bool supports(const DpEvent& event) const;
  PldAccountant& compose(const DpEvent& event, int64_t count = 1);

  double get_epsilon(double target_delta) const;
  double get_delta(double target_epsilon) const;

 private:
  PrivacyLossDistribution distribution(double log_tail) const;
  double log_count() const;
  bool exact() const { return leaves_.empty(); }
  double gaussian_noise_multiplier() const;

  NeighboringRelation relation_;
  double interval_;
  bool non_private_ = false;
  double gaussian_information_ = 0;                  // the sum of 1 / noise_multiplier^2
  std::vector<std::pair<DpEvent, int64_t>> leaves_;  // other events, with their counts
  std::shared_ptr<internal::PldCache> cache_;
};

}  // namespace tessera::privacy::accounting
