#include "tessera/privacy/accounting/rdp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"
#include "tessera/privacy/accounting/checks.h"
#include "tessera/privacy/accounting/special_functions.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::accounting {

namespace {

using internal::log_add;
using internal::log_binomial;
using internal::log_expm1;
using internal::log_normal_cdf;

constexpr double kMinConversionOrder = 1.01;  // below it the conversion is unstable and not needed
// A logarithm of a moment below this is only rounding: the series sums to almost 1.
constexpr double kLogMomentNoise = 1e-11;

bool is_integer(double order) { return order == std::floor(order); }

// Returns log E_Q[(P/Q)^order] of a Poisson-sampled Gaussian. The binomial weights sum to 1, so
// that the excess over 1 is a sum of positive terms: nothing cancels, however small q is.
double log_moment_integer(double q, double sigma, int64_t order) {
  double excess = -kInfinity;
  for (int64_t i = 2; i <= order; ++i) {
    const double k = static_cast<double>(i), rest = static_cast<double>(order - i);
    excess =
        log_add(excess, log_binomial(static_cast<double>(order), i) + k * std::log(q) +
                            rest * std::log1p(-q) + log_expm1(k * (k - 1) / (2 * sigma * sigma)));
  }
  return excess > 30 ? excess + std::log1p(std::exp(-excess)) : std::log1p(std::exp(excess));
}

// Returns an upper bound of the logarithm of the moment between integer orders, by linear
// interpolation: it is convex in the order, and 0 at order 1.
double log_moment_between(double q, double sigma, double order) {
  const double below = std::floor(order), fraction = order - below;
  const auto moment = [&](double o) {
    return o <= 1 ? 0 : log_moment_integer(q, sigma, static_cast<int64_t>(o));
  };
  return (1 - fraction) * moment(below) + fraction * moment(below + 1);
}

// Returns the logarithm of the moment at a fractional order. The integral is split at z0, where
// both densities are equal, and each half is a binomial series. Infinite if 1000 terms do not
// suffice.
double log_moment_fractional(double q, double sigma, double order) {
  const double z0 = sigma * sigma * std::log(1 / q - 1) + 0.5;
  const double log_q = std::log(q), log_1mq = std::log1p(-q);
  double total = -kInfinity, last_low = -kInfinity, last_high = -kInfinity;
  for (int64_t i = 0; i < 1000; ++i) {
    const double k = static_cast<double>(i), rest = order - k;
    const double binomial = log_binomial(order, i);
    const double low = binomial + k * log_q + rest * log_1mq + k * (k - 1) / (2 * sigma * sigma) +
                       log_normal_cdf((z0 - k) / sigma);
    const double high = binomial + rest * log_q + k * log_1mq +
                        rest * (rest - 1) / (2 * sigma * sigma) +
                        log_normal_cdf((rest - z0) / sigma);
    total = log_add(total, log_add(low, high));
    if (low < last_low && high < last_high && std::max(low, high) < total - 30)
      return total > kLogMomentNoise ? total : log_moment_between(q, sigma, order);
    last_low = low, last_high = high;
  }
  return kInfinity;
}

double rdp_poisson(double q, double sigma, double order) {
  if (q == 0 || std::isinf(sigma)) return 0;
  if (std::isinf(order) || sigma == 0) return kInfinity;
  if (q == 1) return order / (2 * sigma * sigma);
  order = std::max(order, kMinConversionOrder);  // divergences increase with the order
  return (is_integer(order) ? log_moment_integer(q, sigma, static_cast<int64_t>(order))
                            : log_moment_fractional(q, sigma, order)) /
         (order - 1);
}

// A number, as its sign and the logarithm of its absolute value.
struct SignedLog {
  double log = -kInfinity;
  bool positive = true;
};

SignedLog subtract(SignedLog a, SignedLog b) {
  if (a.positive != b.positive) return {log_add(a.log, b.log), a.positive};
  const double high = std::max(a.log, b.log), low = std::min(a.log, b.log);
  if (high == low) return {-kInfinity, true};
  return {high + std::log1p(-std::exp(low - high)), (a.log > b.log) == a.positive};
}

// Returns the terms Delta^l of theorem 27, for l from 0 to n, as logarithms of their absolute
// values: the forward differences of order l, at x = -1, of exp(x (x + 1) / (2 sigma^2)), where x
// is the Renyi order minus 1.
std::vector<double> forward_differences(double sigma, int64_t n) {
  std::vector<SignedLog> row;
  for (int64_t i = 0; i <= n; ++i) {
    const double x = static_cast<double>(i - 1);
    row.push_back({x * (x + 1) / (2 * sigma * sigma), true});
  }
  std::vector<double> out{0.0};
  for (int64_t level = 1; level <= n; ++level) {
    for (size_t i = 0; i + 1 < row.size(); ++i) row[i] = subtract(row[i + 1], row[i]);
    row.pop_back();
    out.push_back(row[0].log);
  }
  return out;
}

constexpr int64_t kMaxOrderOfDifferences = 256;  // above it the simpler bound of each term is used

// Returns log E[(P/Q)^order], theorem 27, where differences[l] is the difference of order l. They
// may be empty, as above kMaxOrderOfDifferences.
double log_moment_without_replacement(double q, double sigma, int64_t order,
                                      const std::vector<double>& differences) {
  if (order <= 1) return 0;
  const double step = 1 / (sigma * sigma);  // the Gaussian's own divergence at order 2
  double excess = -kInfinity;
  for (int64_t i = 2; i <= order; ++i) {
    const double k = static_cast<double>(i);
    double term = std::log(2.0) + k * (k - 1) / 2 * step;
    if (i == 2)
      term = std::min(term, std::log(4.0) + log_expm1(step));
    else if (order <= kMaxOrderOfDifferences)
      term =
          std::min(term, std::log(4.0) + 0.5 * (differences[static_cast<size_t>(i / 2 * 2)] +
                                                differences[static_cast<size_t>((i + 1) / 2 * 2)]));
    excess = log_add(excess, term + k * std::log(q) + log_binomial(static_cast<double>(order), i));
  }
  return log_add(0, excess);
}

double rdp_without_replacement(double q, double sigma, double order,
                               const std::vector<double>& differences) {
  if (q == 0 || std::isinf(sigma)) return 0;
  if (std::isinf(order) || sigma == 0) return kInfinity;
  if (q == 1) return order / (2 * sigma * sigma);
  order = std::max(order, kMinConversionOrder);
  const double below = std::floor(order), fraction = order - below;
  const auto moment = [&](double o) {
    return log_moment_without_replacement(q, sigma, static_cast<int64_t>(o), differences);
  };
  const double value =
      fraction == 0 ? moment(below) : (1 - fraction) * moment(below) + fraction * moment(below + 1);
  return value / (order - 1);
}

double laplace(double epsilon, double order) {
  if (std::isinf(epsilon) || std::isinf(order)) return epsilon;
  const double x = std::expm1(epsilon * (1 - 2 * order)) / (2 * order - 1);
  return order == 1 ? epsilon + std::expm1(-epsilon)
                    : epsilon + std::log1p((order - 1) * x) / (order - 1);
}

void expect_orders(std::span<const double> orders) {
  for (double order : orders)
    if (!(order >= 1))
      value_error("privacy::rdp", "expected orders of at least 1, got {}; see default_rdp_orders()",
                  order);
}

template <class F>
std::vector<double> at_each(std::span<const double> orders, F&& f) {
  expect_orders(orders);
  std::vector<double> out;
  for (double order : orders) out.push_back(f(order));
  return out;
}

void expect_sampling(double q, double sigma) {
  if (!(q >= 0 && q <= 1))
    value_error("privacy::rdp",
                "expected a sampling probability in [0, 1], got {}; it is the part of "
                "the examples that a step sees",
                q);
  if (!(sigma >= 0))
    value_error("privacy::rdp",
                "expected a noise multiplier that is not negative, got {}; 0 is no "
                "noise",
                sigma);
}

double epsilon_at(double order, double rdp, double delta) {
  if (delta * delta + std::expm1(-rdp) > 0) return 0;  // because delta <= sqrt(1 - exp(-KL))
  if (order <= kMinConversionOrder) return kInfinity;
  if (std::isinf(order)) return rdp;
  return rdp + std::log1p(-1 / order) - std::log(delta * order) / (order - 1);
}

double log_delta_at(double order, double rdp, double epsilon) {
  const double by_divergence = rdp == 0 ? -kInfinity : 0.5 * std::log1p(-std::exp(-rdp));
  if (order <= kMinConversionOrder || std::isinf(rdp)) return by_divergence;
  if (std::isinf(order)) return rdp <= epsilon ? -kInfinity : by_divergence;
  return std::min(by_divergence,
                  (order - 1) * (rdp - epsilon + std::log1p(-1 / order)) - std::log(order));
}

void expect_as_many(std::span<const double> orders, std::span<const double> rdp) {
  expect_orders(orders);
  if (orders.empty() || orders.size() != rdp.size())
    value_error("privacy::rdp",
                "expected a divergence for each of one or more orders, got {} of {}; "
                "give as many",
                rdp.size(), orders.size());
  for (double value : rdp)
    if (!(value >= 0))
      value_error("privacy::rdp",
                  "expected divergences that are not negative, got {}; they start at 0", value);
}

}  // namespace

const std::vector<double>& default_rdp_orders() {
  static const std::vector<double> orders = [] {
    std::vector<double> out;
    for (int x = 1; x < 100; ++x) out.push_back(1 + x / 10.0);
    for (int x = 11; x < 64; ++x) out.push_back(x);
    for (int x = 128; x <= 1024; x *= 2) out.push_back(x);
    return out;
  }();
  return orders;
}

std::vector<double> rdp_poisson_subsampled_gaussian(double sampling_probability, double sigma,
                                                    std::span<const double> orders) {
  expect_sampling(sampling_probability, sigma);
  return at_each(orders,
                 [&](double order) { return rdp_poisson(sampling_probability, sigma, order); });
}

std::vector<double> rdp_sample_without_replacement_gaussian(double fraction, double sigma,
                                                            std::span<const double> orders) {
  expect_sampling(fraction, sigma);
  double largest = 2;
  for (double order : orders)
    if (order <= static_cast<double>(kMaxOrderOfDifferences))
      largest = std::max(largest, std::ceil(order));
  // The terms read differences of even orders, up to the next even number.
  const std::vector<double> differences =
      sigma > 0 ? forward_differences(sigma, static_cast<int64_t>(largest) + 1)
                : std::vector<double>{};
  return at_each(orders, [&](double order) {
    return rdp_without_replacement(fraction, sigma, order, differences);
  });
}

std::vector<double> rdp_laplace(double noise_multiplier, std::span<const double> orders) {
  expect_sampling(1, noise_multiplier);
  return at_each(orders, [&](double order) { return laplace(1 / noise_multiplier, order); });
}

EpsilonAndOrder rdp_to_epsilon(std::span<const double> orders, std::span<const double> rdp,
                               double delta) {
  expect_as_many(orders, rdp);
  internal::expect_delta("privacy::rdp_to_epsilon", delta);
  if (delta == 0) {
    const bool none = std::all_of(rdp.begin(), rdp.end(), [](double r) { return r == 0; });
    return {none ? 0 : kInfinity, 0};
  }
  EpsilonAndOrder best{kInfinity, orders[0]};
  for (size_t i = 0; i < orders.size(); ++i) {
    const double epsilon = epsilon_at(orders[i], rdp[i], delta);
    if (epsilon < best.epsilon) best = {epsilon, orders[i]};
  }
  best.epsilon = std::max(best.epsilon, 0.0);
  return best;
}

DeltaAndOrder rdp_to_delta(std::span<const double> orders, std::span<const double> rdp,
                           double epsilon) {
  expect_as_many(orders, rdp);
  internal::expect_epsilon("privacy::rdp_to_delta", epsilon);
  double least = kInfinity, order = orders[0];
  for (size_t i = 0; i < orders.size(); ++i) {
    const double log_delta = log_delta_at(orders[i], rdp[i], epsilon);
    if (log_delta < least) least = log_delta, order = orders[i];
  }
  return {std::min(std::exp(least), 1.0), order};
}

RdpAccountant::RdpAccountant(NeighboringRelation relation, std::vector<double> orders)
    : relation_(relation), orders_(std::move(orders)), rdp_(orders_.size(), 0.0) {
  expect_as_many(orders_, rdp_);
}

std::string RdpAccountant::unsupported(const DpEvent& leaf) const {
  const bool replaces = relation_ == NeighboringRelation::kReplaceOne;
  if (const auto* sampled = std::get_if<PoissonSampledDpEvent>(&leaf)) {
    if (replaces) return "Poisson samples take add_or_remove_one or replace_special";
    if (std::isnan(effective_noise_multiplier(*sampled->event)))
      return "only Gaussian mechanisms on a sample have a known divergence";
    return "";
  }
  if (const auto* sampled = std::get_if<SampledWithoutReplacementDpEvent>(&leaf)) {
    if (relation_ == NeighboringRelation::kAddOrRemoveOne)
      return "samples without replacement take replace_one or replace_special";
    if (std::isnan(effective_noise_multiplier(*sampled->event)))
      return "only Gaussian mechanisms on a sample have a known divergence";
    return "";
  }
  if (std::holds_alternative<LaplaceDpEvent>(leaf) && replaces)
    return "Laplace noise takes add_or_remove_one or replace_special";
  const bool known = std::holds_alternative<GaussianDpEvent>(leaf) ||
                     std::holds_alternative<LaplaceDpEvent>(leaf) ||
                     std::holds_alternative<ZCDpEvent>(leaf) ||
                     std::holds_alternative<NonPrivateDpEvent>(leaf);
  return known ? "" : "its Renyi divergence is not known; PldAccountant may support it";
}

bool RdpAccountant::supports(const DpEvent& event) const {
  return internal::all_supported(event, *this);
}

std::vector<double> RdpAccountant::divergences(const DpEvent& leaf) const {
  // The distance of neighbours, in units of the largest norm.
  const double unit = relation_ == NeighboringRelation::kReplaceOne ? 2 : 1;
  const auto unknown = [&](const auto&) {
    TESSERA_CHECK(false, "{} has no known divergence", to_string(leaf));
    return std::vector<double>();
  };
  return std::visit(
      Overloaded{
          [&](const NonPrivateDpEvent&) {
            return at_each(orders_, [](double) { return kInfinity; });
          },
          [&](const GaussianDpEvent& e) {
            return rdp_poisson_subsampled_gaussian(1, e.noise_multiplier / unit, orders_);
          },
          [&](const LaplaceDpEvent& e) { return rdp_laplace(e.noise_multiplier, orders_); },
          [&](const ZCDpEvent& e) {
            return at_each(orders_, [&](double order) { return e.xi + e.rho * order; });
          },
          [&](const PoissonSampledDpEvent& e) {
            return rdp_poisson_subsampled_gaussian(e.sampling_probability,
                                                   effective_noise_multiplier(*e.event), orders_);
          },
          // The sum moves by 2 under either relation: if the replaced example is not in the batch,
          // another one replaces it. Theorem 27 bounds the divergence of every pair of neighbours
          // in either order, so there are no directions to be kept apart in compositions.
          [&](const SampledWithoutReplacementDpEvent& e) {
            return rdp_sample_without_replacement_gaussian(
                static_cast<double>(e.sample_size) / static_cast<double>(e.source_dataset_size),
                effective_noise_multiplier(*e.event) / 2, orders_);
          },
          [&](const NoOpDpEvent& e) { return unknown(e); },
          [&](const DiscreteLaplaceDpEvent& e) { return unknown(e); },
          [&](const MixtureOfGaussiansDpEvent& e) { return unknown(e); },
          [&](const TruncatedSubsampledGaussianDpEvent& e) { return unknown(e); },
          [&](const SampledWithReplacementDpEvent& e) { return unknown(e); },
          [&](const SelfComposedDpEvent& e) { return unknown(e); },
          [&](const ComposedDpEvent& e) { return unknown(e); },
      },
      static_cast<const DpEventVariant&>(leaf));
}

RdpAccountant& RdpAccountant::compose(const DpEvent& event, int64_t count) {
  for (const auto& [leaf, times] :
       internal::checked_leaves("privacy::RdpAccountant::compose", event, count, *this)) {
    const std::vector<double> one = divergences(leaf);
    for (size_t i = 0; i < rdp_.size(); ++i) rdp_[i] += static_cast<double>(times) * one[i];
  }
  return *this;
}

EpsilonAndOrder RdpAccountant::get_epsilon_and_optimal_order(double target_delta) const {
  return rdp_to_epsilon(orders_, rdp_, target_delta);
}

DeltaAndOrder RdpAccountant::get_delta_and_optimal_order(double target_epsilon) const {
  return rdp_to_delta(orders_, rdp_, target_epsilon);
}

}  // namespace tessera::privacy::accounting
