#include "tessera/privacy/accounting/event_loss.h"

#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::accounting::internal {

namespace {

const DpEventVariant& variant_of(const DpEvent& event) { return event; }

PrivacyLoss sampled(PrivacyLoss loss, double q) {
  return q == 1 ? loss : subsampled(std::move(loss), q);
}

// Returns the loss of the Gaussian mechanism on a Poisson sample.
PrivacyLoss gaussian(double noise_multiplier, double q, NeighboringRelation relation,
                     double log_tail) {
  if (q == 1) return gaussian_loss_under(relation, noise_multiplier, log_tail);
  if (relation == NeighboringRelation::kReplaceOne)
    return replaced_gaussian_loss(noise_multiplier, q, log_tail);
  return subsampled(gaussian_loss(noise_multiplier, log_tail), q);
}

PrivacyLoss mixture(const MixtureOfGaussiansDpEvent& event, double log_tail) {
  std::vector<MixtureComponent> components;
  for (size_t i = 0; i < event.sensitivities.size(); ++i)
    components.push_back({event.sensitivities[i], event.sampling_probs[i]});
  return gaussian_mixture_loss(event.standard_deviation, components, log_tail);
}

// Returns the probability that more than k of n examples are sampled.
double more_than(int64_t k, int64_t n, double q) {
  if (k >= n) return 0;
  const boost::math::binomial_distribution<double> sizes(static_cast<double>(n), q);
  return boost::math::cdf(boost::math::complement(sizes, static_cast<double>(k)));
}

// Ganesh 2025, "Tighter Privacy Analysis for Truncated Poisson Sampling": if the batch is
// truncated, the example replaces another one.
PrivacyLoss truncated(const TruncatedSubsampledGaussianDpEvent& e, NeighboringRelation relation,
                      double log_tail) {
  const PrivacyLoss whole =
      gaussian(e.noise_multiplier, e.sampling_probability, relation, log_tail);
  const double cut =
      more_than(e.truncated_batch_size - 1, e.dataset_size - 1, e.sampling_probability);
  if (cut == 0) return whole;
  const double kept =
      std::min(1.0, more_than(e.truncated_batch_size, e.dataset_size, e.sampling_probability) *
                        static_cast<double>(e.truncated_batch_size) / cut /
                        static_cast<double>(e.dataset_size));
  if (kept == 0) return whole;
  return mixed(cut,
               gaussian(e.noise_multiplier / 2, kept, NeighboringRelation::kReplaceOne, log_tail),
               whole);
}

double fraction(const SampledWithoutReplacementDpEvent& e) {
  return static_cast<double>(e.sample_size) / static_cast<double>(e.source_dataset_size);
}

// The loss of the Gaussian mechanism on a random subset of B out of N examples, of which one is
// replaced.
//
// Let q = B / N. For either of the two data sets, the batch has the replaced example with
// probability q: let M1 and M1' be the outputs for such batches. Otherwise the batch is a subset of
// the other examples: let M0 be its output. Batches of M1, M1' and M0 can be drawn together so that
// they differ in one example, whose values move the sum by 2 in units of the largest norm: (P, Q) =
// (N(2, sigma^2), N(0, sigma^2)) dominates each pair of them. By advanced joint convexity (Balle,
// Barthe and Gaboardi 2018, theorem 2) the divergence of order alpha = exp(epsilon) is, with a = 1
// + (alpha - 1) / q and b = alpha / a,
//
//   H_alpha(q M1 + (1 - q) M0 | q M1' + (1 - q) M0) = q H_a(M1 | (1 - b) M0 + b M1') <= q H_a(P |
//   Q)
//
// for alpha >= 1, which is the profile of the subsampled numerator against Q. For alpha < 1 it is 1
// - alpha + alpha H_{1 / alpha} of the exchanged pair (a subsampled denominator), to which the same
// applies (Zhu, Dong and Wang 2022, proposition 30). Both branches together are one curve that
// bounds delta at every epsilon in both directions; it is convex, so it is the profile of one pair
// of distributions, and that pair dominates under composition. The two pairs of the branches do
// not: composing each and taking the larger delta is no bound (Lebeda, Regehr, Kamath and Steinke
// 2024).
//
// Zeroing out an example replaces it by one that contributes nothing, so the same bound holds. If
// an example is removed, batches of size B are drawn from the others alone: then M1' is M0, and the
// bound holds. If one is added, q = B / (N + 1) is smaller.
PrivacyLoss without_replacement(const SampledWithoutReplacementDpEvent& e,
                                NeighboringRelation relation, double log_tail) {
  const double noise = effective_noise_multiplier(*e.event);
  if (e.sample_size < e.source_dataset_size)
    return symmetrized(subsampled(gaussian_loss(noise / 2, log_tail), fraction(e)));
  // If an example is added, a batch of N examples is no longer all of the data.
  const bool added = relation == NeighboringRelation::kAddOrRemoveOne;
  return added ? gaussian_loss(noise / 2, log_tail)
               : gaussian_loss_under(relation, noise, log_tail);
}

const char* unknown_on_poisson_sample(const PoissonSampledDpEvent& e, bool replaces) {
  const bool laplace = std::holds_alternative<LaplaceDpEvent>(*e.event);
  if (!laplace && std::isnan(effective_noise_multiplier(*e.event)))
    return "only Gaussian or Laplace mechanisms on a Poisson sample have a known distribution";
  return laplace && replaces ? "Laplace noise takes add_or_remove_one or replace_special" : "";
}

const char* unknown_on_subset(const SampledWithoutReplacementDpEvent& e) {
  return std::isnan(effective_noise_multiplier(*e.event))
             ? "only Gaussian mechanisms on a sample without replacement have a known distribution"
             : "";
}

// These events are never passed here: for_each_leaf leaves them out, or their loss is not known.
template <class Event>
[[noreturn]] void unexpected(const Event& event) {
  TESSERA_CHECK(false, "{} has no loss", to_string(event));
  __builtin_unreachable();
}

}  // namespace

std::string unknown_loss(const DpEvent& leaf, NeighboringRelation relation) {
  const bool replaces = relation == NeighboringRelation::kReplaceOne;
  const char* no_replacing = replaces ? "it takes add_or_remove_one or replace_special" : "";
  constexpr const char* kUnknown =
      "its privacy loss distribution is not known; RdpAccountant may support it";
  return std::visit(
      Overloaded{
          [](const NoOpDpEvent&) { return ""; },
          [](const NonPrivateDpEvent&) { return ""; },
          [](const GaussianDpEvent&) { return ""; },
          [](const TruncatedSubsampledGaussianDpEvent&) { return ""; },
          [&](const LaplaceDpEvent&) { return no_replacing; },
          [&](const DiscreteLaplaceDpEvent&) { return no_replacing; },
          [&](const MixtureOfGaussiansDpEvent&) { return no_replacing; },
          [&](const PoissonSampledDpEvent& e) { return unknown_on_poisson_sample(e, replaces); },
          [](const SampledWithoutReplacementDpEvent& e) { return unknown_on_subset(e); },
          [](const ZCDpEvent&) { return kUnknown; },
          [](const SampledWithReplacementDpEvent&) { return kUnknown; },
          [](const SelfComposedDpEvent&) { return kUnknown; },
          [](const ComposedDpEvent&) { return kUnknown; },
      },
      variant_of(leaf));
}

double noise_of(const DpEvent& leaf) {
  return std::visit(
      Overloaded{
          [](const NonPrivateDpEvent&) { return 0.0; },
          [](const GaussianDpEvent& e) { return e.noise_multiplier; },
          [](const LaplaceDpEvent& e) { return e.noise_multiplier; },
          [](const DiscreteLaplaceDpEvent& e) {
            return e.sensitivity == 0 ? kInfinity
                                      : e.noise_parameter;  // at 0 the noise has no distribution
          },
          [](const MixtureOfGaussiansDpEvent& e) {
            double moved = 0;
            for (size_t i = 0; i < e.sensitivities.size(); ++i)
              moved += e.sensitivities[i] * e.sampling_probs[i];
            return moved == 0 ? kInfinity : e.standard_deviation;
          },
          [](const TruncatedSubsampledGaussianDpEvent& e) {
            const bool none =
                e.sampling_probability == 0 || e.truncated_batch_size == 0 || e.dataset_size == 0;
            return none ? kInfinity : e.noise_multiplier;
          },
          [](const PoissonSampledDpEvent& e) {
            const auto* laplace = std::get_if<LaplaceDpEvent>(&*e.event);
            if (e.sampling_probability == 0) return kInfinity;
            return laplace ? laplace->noise_multiplier : effective_noise_multiplier(*e.event);
          },
          [](const SampledWithoutReplacementDpEvent& e) {
            return e.sample_size == 0 ? kInfinity : effective_noise_multiplier(*e.event);
          },
          [](const NoOpDpEvent& e) -> double { unexpected(e); },
          [](const ZCDpEvent& e) -> double { unexpected(e); },
          [](const SampledWithReplacementDpEvent& e) -> double { unexpected(e); },
          [](const SelfComposedDpEvent& e) -> double { unexpected(e); },
          [](const ComposedDpEvent& e) -> double { unexpected(e); },
      },
      variant_of(leaf));
}

bool is_gaussian(const DpEvent& leaf, NeighboringRelation relation) {
  return std::visit(Overloaded{
                        [](const GaussianDpEvent&) { return true; },
                        [](const PoissonSampledDpEvent& e) {
                          return e.sampling_probability == 1 &&
                                 !std::holds_alternative<LaplaceDpEvent>(*e.event);
                        },
                        [&](const SampledWithoutReplacementDpEvent& e) {
                          return e.sample_size == e.source_dataset_size &&
                                 relation != NeighboringRelation::kAddOrRemoveOne;
                        },
                        [](const NonPrivateDpEvent&) { return false; },
                        [](const LaplaceDpEvent&) { return false; },
                        [](const DiscreteLaplaceDpEvent&) { return false; },
                        [](const MixtureOfGaussiansDpEvent&) { return false; },
                        [](const TruncatedSubsampledGaussianDpEvent&) { return false; },
                        [](const NoOpDpEvent& e) -> bool { unexpected(e); },
                        [](const ZCDpEvent& e) -> bool { unexpected(e); },
                        [](const SampledWithReplacementDpEvent& e) -> bool { unexpected(e); },
                        [](const SelfComposedDpEvent& e) -> bool { unexpected(e); },
                        [](const ComposedDpEvent& e) -> bool { unexpected(e); },
                    },
                    variant_of(leaf));
}

PrivacyLoss gaussian_loss_under(NeighboringRelation relation, double noise_multiplier,
                                double log_tail) {
  const double moved = relation == NeighboringRelation::kReplaceOne ? 2 : 1;
  return gaussian_loss(noise_multiplier / moved, log_tail);
}

PrivacyLoss loss_of(const DpEvent& leaf, NeighboringRelation relation, double log_tail) {
  return std::visit(
      Overloaded{
          [&](const GaussianDpEvent& e) {
            return gaussian_loss_under(relation, e.noise_multiplier, log_tail);
          },
          [](const LaplaceDpEvent& e) { return laplace_loss(e.noise_multiplier); },
          [](const DiscreteLaplaceDpEvent& e) {
            return discrete_laplace_loss(e.noise_parameter, e.sensitivity);
          },
          [&](const MixtureOfGaussiansDpEvent& e) { return mixture(e, log_tail); },
          [&](const TruncatedSubsampledGaussianDpEvent& e) {
            return truncated(e, relation, log_tail);
          },
          [&](const PoissonSampledDpEvent& e) {
            if (const auto* laplace = std::get_if<LaplaceDpEvent>(&*e.event))
              return sampled(laplace_loss(laplace->noise_multiplier), e.sampling_probability);
            return gaussian(effective_noise_multiplier(*e.event), e.sampling_probability, relation,
                            log_tail);
          },
          [&](const SampledWithoutReplacementDpEvent& e) {
            return without_replacement(e, relation, log_tail);
          },
          [](const NoOpDpEvent& e) -> PrivacyLoss { unexpected(e); },
          [](const NonPrivateDpEvent& e) -> PrivacyLoss { unexpected(e); },
          [](const ZCDpEvent& e) -> PrivacyLoss { unexpected(e); },
          [](const SampledWithReplacementDpEvent& e) -> PrivacyLoss { unexpected(e); },
          [](const SelfComposedDpEvent& e) -> PrivacyLoss { unexpected(e); },
          [](const ComposedDpEvent& e) -> PrivacyLoss { unexpected(e); },
      },
      variant_of(leaf));
}

}  // namespace tessera::privacy::accounting::internal
