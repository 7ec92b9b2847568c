#include "tessera/privacy/accounting/pld.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tessera/base/bounded_cache.h"
#include "tessera/base/hash.h"
#include "tessera/privacy/accounting/checks.h"
#include "tessera/privacy/accounting/event_loss.h"
#include "tessera/privacy/accounting/gaussian_mechanism.h"
#include "tessera/privacy/accounting/pld_pmf.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::accounting {

namespace internal {

struct PldKey {
  DpEvent event;
  double interval, log_tail;
  bool operator==(const PldKey&) const = default;
  size_t hash() const {
    size_t seed = hash_combine(event.index(), std::hash<double>()(noise_of(event)));
    seed = hash_combine(seed, std::hash<double>()(interval));
    return hash_combine(seed, std::hash<double>()(log_tail));
  }
};
// A cache of the distributions that were made of events on grids, for both directions. An entry
// usually takes a megabyte.
struct PldCache : BoundedCache<PldKey, BothDirections> {
  static constexpr size_t kMaxEntries = 64;
  static constexpr int64_t kMaxBytes = int64_t{128} << 20;
  PldCache() : BoundedCache(kMaxEntries, ForkParticipant::Level::kLeaves, kMaxBytes) {}
};

}  // namespace internal

namespace {

using internal::noise_of;
using internal::PldPmf;
using internal::PrivacyLoss;

// The least noise multiplier. Less counts as no noise.
constexpr double kMinNoise = 1e-6;
constexpr double kMaxGridPoints = 1 << 26;        // of one mechanism in from_*_mechanism()
constexpr double kMaxAccountantPoints = 1 << 20;  // of one mechanism in PldAccountant
constexpr double kMaxSumPoints = 1 << 21;         // of the sum that PldAccountant composes
constexpr double kLogTailShare = -16;  // the logarithm of the share in delta of truncated losses

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

// Returns the PLD of one mechanism that the caller describes by an event and options.
PrivacyLossDistribution of_event(const char* op, const DpEvent& event, const PldOptions& options) {
  expect_interval(options.value_discretization_interval);
  if (!(options.log_truncation_mass >= internal::kLeastLogTail &&
        options.log_truncation_mass <= internal::kLargestLogTail))
    value_error(op, "expected a log_truncation_mass in [{}, {}], got {}; -50 serves",
                internal::kLeastLogTail, internal::kLargestLogTail, options.log_truncation_mass);
  const PldAccountant supporter(options.neighboring_relation);
  const auto leaves = internal::checked_leaves(op, event, 1, supporter);
  const double noise = noise_of(leaves[0].first);
  if (noise < kMinNoise)
    value_error(
        op, "expected a noise multiplier of at least 1e-6, got {}; with less there is no privacy",
        noise);
  if (std::isinf(noise)) return {};
  return distribution_of(
      internal::loss_of(leaves[0].first, options.neighboring_relation, options.log_truncation_mass),
      options);
}

// A loss, how often it is composed, and its event if it belongs to one.
struct Repeated {
  PrivacyLoss loss;
  int64_t count;
  const DpEvent* event;
};

PrivacyLossDistribution::Part on_grid(const Repeated& r, double interval, double log_tail,
                                      internal::PldCache& cache) {
  if (!r.event) return part(r.loss, interval, r.count);
  const internal::PldKey key{*r.event, interval, log_tail};
  const size_t hash = key.hash();
  auto grids = cache.find(hash, [&](const internal::PldKey& k) { return k == key; });
  if (!grids) {
    const internal::BothDirections both = internal::connect_the_dots(r.loss, interval);
    const size_t points = both.remove->probs.size() + both.add->probs.size();
    grids = cache.insert(hash, key, both, static_cast<int64_t>(points * sizeof(double)));
  }
  return {grids->remove, grids->add, r.count};
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

// Returns the larger of f's results for both directions.
template <class F>
double worse(const std::vector<PrivacyLossDistribution::Part>& parts, F&& f) {
  const double remove = f(one_direction(parts, &PrivacyLossDistribution::Part::remove));
  const bool symmetric =
      std::all_of(parts.begin(), parts.end(), [](const auto& p) { return p.remove == p.add; });
  return symmetric ? remove
                   : std::max(remove, f(one_direction(parts, &PrivacyLossDistribution::Part::add)));
}

// Returns the probability that a loss is infinite, in the worse direction.
double infinity_mass(const std::vector<PrivacyLossDistribution::Part>& parts) {
  double remove = 0, add = 0;
  for (const auto& p : parts) {
    remove += static_cast<double>(p.count) * std::log1p(-p.remove->infinity_mass);
    add += static_cast<double>(p.count) * std::log1p(-p.add->infinity_mass);
  }
  return -std::expm1(std::min(remove, add));
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
  constexpr const char* op = "privacy::PrivacyLossDistribution::get_epsilon_for_delta";
  internal::expect_delta(op, delta);
  const double cut_off = infinity_mass(parts_);
  if (delta > 0 && delta <= cut_off)
    value_error(
        op,
        "expected a delta of 0 or above {:.3g}, the probability of the losses that were cut "
        "off when the distribution was made, got {}; make it with a smaller "
        "log_truncation_mass, or take PldAccountant",
        cut_off, delta);
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
  return internal::unknown_loss(leaf, relation_);
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
    } else if (internal::is_gaussian(leaf, relation_)) {
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

PrivacyLossDistribution PldAccountant::distribution(double log_tail) const {
  std::vector<Repeated> all;
  for (const auto& [leaf, count] : leaves_)
    all.push_back({internal::loss_of(leaf, relation_, log_tail), count, &leaf});
  if (gaussian_information_ > 0)
    all.push_back({internal::gaussian_loss_under(relation_, gaussian_noise_multiplier(), log_tail),
                   1, nullptr});
  double interval = interval_;
  for (const Repeated& r : all)
    while (internal::grid_points(r.loss, interval) > kMaxAccountantPoints) interval *= 2;
  const auto on_grids = [&] {
    std::vector<PrivacyLossDistribution::Part> parts;
    for (const Repeated& r : all) parts.push_back(on_grid(r, interval, log_tail, *cache_));
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

// Returns the logarithm of a bound of the number of losses that are composed, each of which is
// truncated.
double PldAccountant::log_count() const {
  double count = 1;
  for (const auto& [leaf, times] : leaves_) count += static_cast<double>(times);
  return std::log(count);
}

double PldAccountant::get_epsilon(double target_delta) const {
  constexpr const char* op = "privacy::PldAccountant::get_epsilon";
  internal::expect_delta(op, target_delta);
  if (non_private_) return kInfinity;
  const double sensitivity = relation_ == NeighboringRelation::kReplaceOne ? 2 : 1;
  if (exact()) return get_epsilon_gaussian(gaussian_noise_multiplier() / sensitivity, target_delta);
  if (target_delta == 0) return distribution(internal::kLogTail).get_epsilon_for_delta(0);
  const double least = internal::kLeastLogTail + log_count() - kLogTailShare;
  if (std::log(target_delta) < least)
    value_error(
        op,
        "expected a delta of 0 or of at least {:.3g}, got {}; losses that are rarer are not "
        "followed",
        std::exp(least), target_delta);
  // The logarithm is rounded, so that similar deltas share the same distributions.
  const double wanted = std::log(target_delta) + kLogTailShare - log_count();
  const double log_tail =
      std::clamp(std::floor(wanted / 50) * 50, internal::kLeastLogTail, internal::kLogTail);
  return distribution(log_tail).get_epsilon_for_delta(target_delta);
}

double PldAccountant::get_delta(double target_epsilon) const {
  if (std::isnan(target_epsilon))
    value_error("privacy::PldAccountant::get_delta", "expected an epsilon, got {}; give a number",
                target_epsilon);
  if (non_private_) return 1;
  if (target_epsilon == kInfinity) return 0;
  const double sensitivity = relation_ == NeighboringRelation::kReplaceOne ? 2 : 1;
  if (exact()) return get_delta_gaussian(gaussian_noise_multiplier() / sensitivity, target_epsilon);
  for (double log_tail = internal::kLogTail;;
       log_tail = std::max(2 * log_tail, internal::kLeastLogTail)) {
    const double delta = distribution(log_tail).get_delta_for_epsilon(target_epsilon);
    // Repeats with fewer truncated losses if their share in delta is too large.
    if (log_tail + log_count() <= std::log(delta) + kLogTailShare ||
        log_tail == internal::kLeastLogTail)
      return delta;
  }
}

}  // namespace tessera::privacy::accounting
