#include "tessera/privacy/accounting/pld.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>
#include <mutex>

#include "tessera/privacy/accounting/checks.h"
#include "tessera/privacy/accounting/gaussian_mechanism.h"
#include "tessera/privacy/accounting/pld_pmf.h"

namespace tessera::privacy::accounting {

namespace internal {

// The grids of some events, both directions each.
struct PldCache {
  struct Entry {
    DpEvent event;
    double interval;
    BothDirections grids;
  };
  static constexpr size_t kMaxEntries = 16;  // of a megabyte, as a rule
  std::mutex mutex;
  std::vector<Entry> entries;
};

}  // namespace internal

namespace {

using internal::PldPmf;
using internal::PrivacyLoss;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMinNoise = 1e-6;                // in units of the sensitivity; less is none
constexpr double kMaxGridPoints = 1 << 26;        // of one mechanism, by the functions
constexpr double kMaxAccountantPoints = 1 << 20;  // and in the accountant
constexpr double kMaxSumPoints = 1 << 21;         // of what it composes

PrivacyLoss sampled(PrivacyLoss loss, double q) {
  return q == 1 ? loss : internal::subsampled(std::move(loss), q);
}

PrivacyLoss gaussian(double noise_multiplier, double q, NeighboringRelation relation) {
  if (relation != NeighboringRelation::kReplaceOne)
    return sampled(internal::gaussian_loss(noise_multiplier), q);
  return q == 1 ? internal::gaussian_loss(noise_multiplier / 2)
                : internal::replaced_gaussian_loss(noise_multiplier, q);
}

PrivacyLoss mixture(const MixtureOfGaussiansDpEvent& event) {
  std::vector<internal::MixtureComponent> components;
  for (size_t i = 0; i < event.sensitivities.size(); ++i)
    components.push_back({event.sensitivities[i], event.sampling_probs[i]});
  return internal::gaussian_mixture_loss(event.standard_deviation, components);
}

// The probability that more than k of n examples are sampled.
double more_than(int64_t k, int64_t n, double q) {
  if (k >= n) return 0;
  const boost::math::binomial_distribution<double> sizes(static_cast<double>(n), q);
  return boost::math::cdf(boost::math::complement(sizes, static_cast<double>(k)));
}

// Ganesh 2025, "Tighter Privacy Analysis for Truncated Poisson Sampling": where the batch is cut, the
// example takes the place of another one.
PrivacyLoss truncated(const TruncatedSubsampledGaussianDpEvent& e, NeighboringRelation relation) {
  const PrivacyLoss whole = gaussian(e.noise_multiplier, e.sampling_probability, relation);
  const double cut =
      more_than(e.truncated_batch_size - 1, e.dataset_size - 1, e.sampling_probability);
  if (cut == 0) return whole;
  const double kept =
      std::min(1.0, more_than(e.truncated_batch_size, e.dataset_size, e.sampling_probability) *
                        static_cast<double>(e.truncated_batch_size) / cut /
                        static_cast<double>(e.dataset_size));
  if (kept == 0) return whole;
  return internal::mixed(
      cut, gaussian(e.noise_multiplier / 2, kept, NeighboringRelation::kReplaceOne), whole);
}

PrivacyLossDistribution::Part part(const PrivacyLoss& loss, double interval, int64_t count) {
  const internal::BothDirections both = internal::connect_the_dots(loss, interval);
  return {both.remove, both.add, count};
}

void expect_interval(double interval) {
  if (!(interval > 0 && interval <= 1))
    value_error("privacy::accounting",
                "expected a value_discretization_interval in (0, 1], got {}; "
                "1e-4 serves",
                interval);
}

PrivacyLossDistribution distribution_of(const PrivacyLoss& loss, const PldOptions& options) {
  const double interval = options.value_discretization_interval;
  if (const double count = internal::grid_points(loss, interval); !(count <= kMaxGridPoints))
    value_error("privacy::PrivacyLossDistribution",
                "expected at most 2^26 grid points, got {}; take a larger "
                "value_discretization_interval than {}",
                count, interval);
  return PrivacyLossDistribution({part(loss, interval, 1)});
}

// Of an event that is neither without effect nor without noise.
PrivacyLoss loss_of(const DpEvent& leaf, NeighboringRelation relation) {
  if (const auto* e = std::get_if<GaussianDpEvent>(&leaf))
    return gaussian(e->noise_multiplier, 1, relation);
  if (const auto* e = std::get_if<LaplaceDpEvent>(&leaf))
    return internal::laplace_loss(e->noise_multiplier);
  if (const auto* e = std::get_if<DiscreteLaplaceDpEvent>(&leaf))
    return internal::discrete_laplace_loss(e->noise_parameter, e->sensitivity);
  if (const auto* e = std::get_if<MixtureOfGaussiansDpEvent>(&leaf)) return mixture(*e);
  if (const auto* e = std::get_if<TruncatedSubsampledGaussianDpEvent>(&leaf))
    return truncated(*e, relation);
  const auto& sample = std::get<PoissonSampledDpEvent>(leaf);
  if (const auto* e = std::get_if<LaplaceDpEvent>(&*sample.event))
    return sampled(internal::laplace_loss(e->noise_multiplier), sample.sampling_probability);
  return gaussian(effective_noise_multiplier(*sample.event), sample.sampling_probability, relation);
}

// Its noise multiplier, or what stands for it: 0 gives the data away, infinity hides all.
double noise_of(const DpEvent& leaf) {
  if (const auto* e = std::get_if<GaussianDpEvent>(&leaf)) return e->noise_multiplier;
  if (const auto* e = std::get_if<LaplaceDpEvent>(&leaf)) return e->noise_multiplier;
  if (const auto* e = std::get_if<DiscreteLaplaceDpEvent>(&leaf))
    return e->sensitivity == 0 ? kInf : e->noise_parameter;  // at 0 the noise has no shape
  if (const auto* e = std::get_if<MixtureOfGaussiansDpEvent>(&leaf)) {
    double moved = 0;
    for (size_t i = 0; i < e->sensitivities.size(); ++i)
      moved += e->sensitivities[i] * e->sampling_probs[i];
    return moved == 0 ? kInf : e->standard_deviation;
  }
  if (const auto* e = std::get_if<TruncatedSubsampledGaussianDpEvent>(&leaf)) {
    const bool none =
        e->sampling_probability == 0 || e->truncated_batch_size == 0 || e->dataset_size == 0;
    return none ? kInf : e->noise_multiplier;
  }
  if (const auto* e = std::get_if<PoissonSampledDpEvent>(&leaf)) {
    const auto* laplace = std::get_if<LaplaceDpEvent>(&*e->event);
    if (e->sampling_probability == 0) return kInf;
    return laplace ? laplace->noise_multiplier : effective_noise_multiplier(*e->event);
  }
  return 0;  // NonPrivateDpEvent
}

// A Gaussian mechanism on all of the data.
bool is_gaussian(const DpEvent& leaf) {
  const auto* sample = std::get_if<PoissonSampledDpEvent>(&leaf);
  return std::holds_alternative<GaussianDpEvent>(leaf) ||
         (sample && sample->sampling_probability == 1 &&
          !std::holds_alternative<LaplaceDpEvent>(*sample->event));
}

// Of one mechanism that the caller describes by an event and options.
PrivacyLossDistribution of_event(const char* op, const DpEvent& event, const PldOptions& options) {
  expect_interval(options.value_discretization_interval);
  const PldAccountant supporter(options.neighboring_relation);
  const auto leaves = internal::checked_leaves(op, event, 1, supporter);
  const double noise = noise_of(leaves[0].first);
  if (noise < kMinNoise)
    value_error(
        op, "expected a noise multiplier of at least 1e-6, got {}; with less there is no privacy",
        noise);
  if (std::isinf(noise)) return {};
  return distribution_of(loss_of(leaves[0].first, options.neighboring_relation), options);
}

// A loss that counts several times, of an event where it is that of one.
struct Repeated {
  PrivacyLoss loss;
  int64_t count;
  const DpEvent* event;
};

PrivacyLossDistribution::Part on_grid(const Repeated& r, double interval,
                                      internal::PldCache& cache) {
  if (!r.event) return part(r.loss, interval, r.count);
  const auto find = [&]() -> const internal::BothDirections* {
    for (const auto& entry : cache.entries)
      if (entry.interval == interval && entry.event == *r.event) return &entry.grids;
    return nullptr;
  };
  {
    const std::lock_guard lock(cache.mutex);
    if (const auto* known = find()) return {known->remove, known->add, r.count};
  }
  const internal::BothDirections both = internal::connect_the_dots(r.loss, interval);
  const std::lock_guard lock(cache.mutex);
  if (cache.entries.size() < internal::PldCache::kMaxEntries && !find())
    cache.entries.push_back({*r.event, interval, both});
  return {both.remove, both.add, r.count};
}

DpEvent poisson_sampled(double q, DpEvent event) {
  return q == 1 ? event : DpEvent(PoissonSampledDpEvent{q, std::move(event)});
}

std::vector<internal::RepeatedPmf> one_direction(
    const std::vector<PrivacyLossDistribution::Part>& parts,
    std::shared_ptr<const PldPmf> PrivacyLossDistribution::Part::*direction) {
  std::vector<internal::RepeatedPmf> out;
  for (const auto& p : parts) out.push_back({p.*direction, p.count});
  return out;
}

// The larger of what f gives for both directions.
template <class F>
double worse(const std::vector<PrivacyLossDistribution::Part>& parts, F&& f) {
  const double remove = f(one_direction(parts, &PrivacyLossDistribution::Part::remove));
  const bool symmetric =
      std::all_of(parts.begin(), parts.end(), [](const auto& p) { return p.remove == p.add; });
  return symmetric ? remove
                   : std::max(remove, f(one_direction(parts, &PrivacyLossDistribution::Part::add)));
}

}  // namespace

PrivacyLossDistribution PrivacyLossDistribution::compose(
    const PrivacyLossDistribution& other) const {
  if (!parts_.empty() && !other.parts_.empty() &&
      parts_[0].remove->interval != other.parts_[0].remove->interval)
    value_error("privacy::PrivacyLossDistribution::compose",
                "expected equal value_discretization_intervals, got {} and {}; make both with one",
                parts_[0].remove->interval, other.parts_[0].remove->interval);
  std::vector<Part> parts = parts_;
  parts.insert(parts.end(), other.parts_.begin(), other.parts_.end());
  return PrivacyLossDistribution(std::move(parts));
}

PrivacyLossDistribution PrivacyLossDistribution::self_compose(int64_t num_times) const {
  if (num_times < 0)
    value_error("privacy::PrivacyLossDistribution::self_compose",
                "expected a number of times that is not negative, got {}; 0 is none", num_times);
  if (num_times == 0) return {};
  std::vector<Part> parts = parts_;
  for (Part& p : parts)
    if (__builtin_mul_overflow(p.count, num_times, &p.count))
      value_error("privacy::PrivacyLossDistribution::self_compose",
                  "expected at most 2^63 compositions, got {} times as many; compose fewer",
                  num_times);
  return PrivacyLossDistribution(std::move(parts));
}

double PrivacyLossDistribution::get_delta_for_epsilon(double epsilon) const {
  if (std::isnan(epsilon))
    value_error("privacy::PrivacyLossDistribution::get_delta_for_epsilon",
                "expected an epsilon, got {}; give a number", epsilon);
  return worse(parts_, [&](const auto& parts) { return delta_of_composition(parts, epsilon); });
}

double PrivacyLossDistribution::get_epsilon_for_delta(double delta) const {
  internal::expect_delta("privacy::PrivacyLossDistribution::get_epsilon_for_delta", delta);
  return worse(parts_, [&](const auto& parts) { return epsilon_of_composition(parts, delta); });
}

PrivacyLossDistribution from_gaussian_mechanism(double noise_multiplier,
                                                const PldOptions& options) {
  return of_event("privacy::from_gaussian_mechanism",
                  poisson_sampled(options.sampling_prob, GaussianDpEvent{noise_multiplier}),
                  options);
}
PrivacyLossDistribution from_laplace_mechanism(double noise_multiplier, const PldOptions& options) {
  return of_event("privacy::from_laplace_mechanism",
                  poisson_sampled(options.sampling_prob, LaplaceDpEvent{noise_multiplier}),
                  options);
}
PrivacyLossDistribution from_discrete_laplace_mechanism(double noise_parameter, int64_t sensitivity,
                                                        const PldOptions& options) {
  return of_event("privacy::from_discrete_laplace_mechanism",
                  DiscreteLaplaceDpEvent{noise_parameter, sensitivity}, options);
}
PrivacyLossDistribution from_mixture_gaussian_mechanism(const MixtureOfGaussiansDpEvent& event,
                                                        const PldOptions& options) {
  return of_event("privacy::from_mixture_gaussian_mechanism", event, options);
}
PrivacyLossDistribution from_truncated_subsampled_gaussian_mechanism(
    const TruncatedSubsampledGaussianDpEvent& event, const PldOptions& options) {
  return of_event("privacy::from_truncated_subsampled_gaussian_mechanism", event, options);
}

PldAccountant::PldAccountant(NeighboringRelation relation, double value_discretization_interval)
    : relation_(relation),
      interval_(value_discretization_interval),
      cache_(std::make_shared<internal::PldCache>()) {
  expect_interval(interval_);
}

std::string PldAccountant::unsupported(const DpEvent& leaf) const {
  const bool replaces = relation_ == NeighboringRelation::kReplaceOne;
  if (const auto* sampled_event = std::get_if<PoissonSampledDpEvent>(&leaf)) {
    const bool laplace = std::holds_alternative<LaplaceDpEvent>(*sampled_event->event);
    if (!laplace && std::isnan(effective_noise_multiplier(*sampled_event->event)))
      return "only Gaussian or Laplace mechanisms on a Poisson sample have a known distribution";
    return laplace && replaces ? "Laplace noise takes add_or_remove_one or replace_special" : "";
  }
  if (std::holds_alternative<GaussianDpEvent>(leaf) ||
      std::holds_alternative<TruncatedSubsampledGaussianDpEvent>(leaf) ||
      std::holds_alternative<NonPrivateDpEvent>(leaf))
    return "";
  const bool known = std::holds_alternative<LaplaceDpEvent>(leaf) ||
                     std::holds_alternative<DiscreteLaplaceDpEvent>(leaf) ||
                     std::holds_alternative<MixtureOfGaussiansDpEvent>(leaf);
  if (!known) return "its privacy loss distribution is not known; RdpAccountant may support it";
  return replaces ? "it takes add_or_remove_one or replace_special" : "";
}

bool PldAccountant::supports(const DpEvent& event) const {
  return internal::all_supported(event, *this);
}

PldAccountant& PldAccountant::compose(const DpEvent& event, int64_t count) {
  for (auto& [leaf, times] :
       internal::checked_leaves("privacy::PldAccountant::compose", event, count, *this)) {
    const double noise = noise_of(leaf);
    if (noise < kMinNoise) {
      non_private_ = true;
    } else if (is_gaussian(leaf)) {
      gaussian_information_ += static_cast<double>(times) / (noise * noise);
    } else if (!std::isinf(noise)) {
      const auto same =
          std::find_if(leaves_.begin(), leaves_.end(),
                       [&, &l = leaf](const auto& other) { return other.first == l; });
      if (same == leaves_.end())
        leaves_.emplace_back(std::move(leaf), times);
      else if (__builtin_add_overflow(same->second, times, &same->second))
        value_error("privacy::PldAccountant::compose",
                    "expected at most 2^63 events, got {} more; "
                    "compose fewer",
                    times);
    }
  }
  return *this;
}

double PldAccountant::gaussian_noise_multiplier() const {
  return 1 / std::sqrt(gaussian_information_);
}

PrivacyLossDistribution PldAccountant::distribution() const {
  std::vector<Repeated> all;
  for (const auto& [leaf, count] : leaves_) all.push_back({loss_of(leaf, relation_), count, &leaf});
  if (gaussian_information_ > 0)
    all.push_back({gaussian(gaussian_noise_multiplier(), 1, relation_), 1, nullptr});
  double interval = interval_;
  for (const Repeated& r : all)
    while (internal::grid_points(r.loss, interval) > kMaxAccountantPoints) interval *= 2;
  const auto on_grids = [&] {
    std::vector<PrivacyLossDistribution::Part> parts;
    for (const Repeated& r : all) parts.push_back(on_grid(r, interval, *cache_));
    return parts;
  };
  std::vector<PrivacyLossDistribution::Part> parts = on_grids();
  double sum_points = worse(parts, [](const auto& p) { return composition_points(p); });
  if (sum_points > kMaxSumPoints) {
    for (; sum_points > kMaxSumPoints; sum_points /= 2) interval *= 2;
    parts = on_grids();
  }
  return PrivacyLossDistribution(std::move(parts));
}

double PldAccountant::get_epsilon(double target_delta) const {
  internal::expect_delta("privacy::PldAccountant::get_epsilon", target_delta);
  if (non_private_) return kInf;
  const double sensitivity = relation_ == NeighboringRelation::kReplaceOne ? 2 : 1;
  return exact() ? get_epsilon_gaussian(gaussian_noise_multiplier() / sensitivity, target_delta)
                 : distribution().get_epsilon_for_delta(target_delta);
}

double PldAccountant::get_delta(double target_epsilon) const {
  if (std::isnan(target_epsilon))
    value_error("privacy::PldAccountant::get_delta", "expected an epsilon, got {}; give a number",
                target_epsilon);
  if (non_private_) return 1;
  const double sensitivity = relation_ == NeighboringRelation::kReplaceOne ? 2 : 1;
  return exact() ? get_delta_gaussian(gaussian_noise_multiplier() / sensitivity, target_epsilon)
                 : distribution().get_delta_for_epsilon(target_epsilon);
}

}  // namespace tessera::privacy::accounting
