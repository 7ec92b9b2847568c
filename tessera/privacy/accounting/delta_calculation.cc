#include "tessera/privacy/accounting/delta_calculation.h"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>

#include "tessera/privacy/accounting/checks.h"
#include "tessera/privacy/accounting/special_functions.h"

namespace tessera::privacy::accounting {

namespace {

void expect_samples(const char* op, double num_samples) {
  if (!(num_samples >= 1))
    value_error(op, "expected at least one sample, got {}; draw some", num_samples);
}
void expect_positive_delta(const char* op, double delta) {
  if (!(delta > 0 && delta <= 1))
    value_error(op, "expected a delta in (0, 1], got {}; no number of samples proves 0", delta);
}

// Returns the Kullback-Leibler divergence of a coin of probability a from one of probability b.
double divergence(double a, double b) {
  const double ones = a == 0 ? 0 : a * std::log(a / b);
  const double zeros = a == 1 ? 0 : (1 - a) * (std::log1p(-a) - std::log1p(-b));
  return ones + zeros;
}

// Returns a bound of the delta of the whole procedure: a mechanism with a delta above `limit`
// passes with probability at most q. The bound holds for every limit.
double overall_delta(double num_samples, double base_delta, double log_limit) {
  const double limit = std::min(std::exp(log_limit), 1.0);
  const double q = limit == 1 ? 0 : std::exp(-num_samples * divergence(base_delta, limit));
  return limit + q * (1 - limit);
}

double least_overall_delta(double num_samples, double base_delta) {
  const double lowest = std::log(base_delta);
  const auto at = [&](double log_limit) {
    return overall_delta(num_samples, base_delta, log_limit);
  };
  // The function falls to one minimum and rises; the search finds that valley.
  constexpr int kSteps = 200;
  int best = 0;
  for (int i = 1; i <= kSteps; ++i)
    if (at(lowest * (1 - i / double{kSteps})) < at(lowest * (1 - best / double{kSteps}))) best = i;
  const double low = lowest * (1 - std::max(best - 1, 0) / double{kSteps});
  const double high = lowest * (1 - std::min(best + 1, kSteps) / double{kSteps});
  return std::min(boost::math::tools::brent_find_minima(at, low, high, 40).second, 1.0);
}

}  // namespace

namespace {

// Returns the mean of delta_of(epsilon - loss) over the losses, weighted by `counts` (1 each if
// empty).
template <class DeltaOf>
double mean_delta(double epsilon, std::span<const double> losses, std::span<const double> counts,
                  const DeltaOf& delta_of) {
  constexpr const char* op = "privacy::delta_from_epsilon_and_samples";
  internal::expect_epsilon(op, epsilon);
  expect_samples(op, static_cast<double>(losses.size()));
  if (!counts.empty() && counts.size() != losses.size())
    value_error(op, "expected a count for each of {} losses, got {}; give as many", losses.size(),
                counts.size());
  double sum = 0, total = 0;
  for (size_t i = 0; i < losses.size(); ++i) {
    const double count = counts.empty() ? 1 : counts[i];
    sum += count * delta_of(epsilon - losses[i]);
    total += count;
  }
  return sum / total;
}

}  // namespace

double delta_from_epsilon_and_samples(double epsilon, std::span<const double> losses,
                                      std::span<const double> counts) {
  return mean_delta(epsilon, losses, counts,
                    [](double rest) { return -std::expm1(std::min(rest, 0.0)); });
}

double delta_from_epsilon_and_samples(double epsilon, std::span<const double> losses,
                                      const PldAccountant& other, std::span<const double> counts) {
  return mean_delta(epsilon, losses, counts, [&](double rest) { return other.get_delta(rest); });
}

double delta_upper_bound(double estimate, int64_t num_samples, double failure_probability) {
  constexpr const char* op = "privacy::delta_upper_bound";
  internal::expect_delta(op, estimate);
  expect_samples(op, static_cast<double>(num_samples));
  expect_positive_delta(op, failure_probability);
  if (estimate == 1) return 1;
  const double allowed = -std::log(failure_probability) / static_cast<double>(num_samples);
  // Returns by how much the divergence is below the allowed one. It is 0 at the result.
  const auto room = [&](double delta) {
    return delta == 1 ? -1 : allowed - divergence(estimate, delta);
  };
  if (room(estimate) <= 0) return estimate;
  return internal::find_root(room, estimate, 1, 1e-15);
}

double get_overall_delta(int64_t num_samples, double base_delta) {
  expect_samples("privacy::get_overall_delta", static_cast<double>(num_samples));
  expect_positive_delta("privacy::get_overall_delta", base_delta);
  return least_overall_delta(static_cast<double>(num_samples), base_delta);
}

double get_base_delta(int64_t num_samples, double target_delta) {
  constexpr const char* op = "privacy::get_base_delta";
  expect_samples(op, static_cast<double>(num_samples));
  expect_positive_delta(op, target_delta);
  const auto excess = [&](double base) {
    return least_overall_delta(static_cast<double>(num_samples), base) - target_delta;
  };
  if (excess(target_delta) <= 0) return target_delta;
  const double least = target_delta * 1e-6;
  if (excess(least) > 0)
    value_error(op, "expected enough samples to verify a delta of {}, got {}; draw more",
                target_delta, num_samples);
  return internal::find_root(excess, least, target_delta, 1e-10 * target_delta);
}

int64_t minimum_samples_to_calibrate(double base_delta, double target_delta) {
  constexpr const char* op = "privacy::minimum_samples_to_calibrate";
  expect_positive_delta(op, base_delta);
  expect_positive_delta(op, target_delta);
  if (!(base_delta < target_delta))
    value_error(
        op,
        "expected a base_delta below target_delta = {}, got {}; leave room for the samples' "
        "error",
        target_delta, base_delta);
  const auto enough = [&](int64_t samples) {
    return least_overall_delta(static_cast<double>(samples), base_delta) <= target_delta;
  };
  int64_t low = 0, high = 1;
  while (!enough(high)) {
    low = high;
    if (high > int64_t{1} << 60)
      value_error(op,
                  "expected a target_delta that 2^60 samples reach, got {}; lower base_delta = {}",
                  target_delta, base_delta);
    high *= 2;
  }
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

Verification perform_calibration_from_samples(double epsilon, double delta,
                                              std::span<const VerificationSamples> mechanisms) {
  constexpr const char* op = "privacy::perform_calibration_from_samples";
  if (mechanisms.empty())
    value_error(op, "expected samples of at least one mechanism, got none; give some");
  size_t least = std::numeric_limits<size_t>::max();
  for (const VerificationSamples& samples : mechanisms) {
    least = std::min(least, samples.positive.size());
    if (!samples.negative.empty()) least = std::min(least, samples.negative.size());
  }
  expect_samples(op, static_cast<double>(least));
  const double base_delta = get_base_delta(static_cast<int64_t>(least), delta);
  const auto delta_of = [&](const std::vector<double>& losses, const VerificationSamples& s) {
    return s.other ? delta_from_epsilon_and_samples(epsilon, losses, *s.other)
                   : delta_from_epsilon_and_samples(epsilon, losses);
  };
  const auto passes = [&](const std::vector<double>& losses, const VerificationSamples& s) {
    return losses.empty() || delta_of(losses, s) <= base_delta;
  };
  const auto failing = std::find_if_not(
      mechanisms.begin(), mechanisms.end(),
      [&](const VerificationSamples& s) { return passes(s.positive, s) && passes(s.negative, s); });
  const size_t verified = static_cast<size_t>(failing - mechanisms.begin());
  return {verified > 0, verified > 0 ? verified - 1 : 0, base_delta};
}

}  // namespace tessera::privacy::accounting
