#include "tessera/privacy/accounting/monte_carlo_epsilon.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tessera/base/format.h"
#include "tessera/privacy/accounting/delta_calculation.h"
#include "tessera/privacy/accounting/delta_table.h"
#include "tessera/privacy/accounting/special_functions.h"

namespace tessera::privacy::accounting {

namespace {

constexpr const char* kMonteCarloEpsilonOp = "privacy::monte_carlo_epsilon";
constexpr double kNegligible = 1e-5;  // as a fraction of a delta

void expect_probability(const char* what, double value) {
  if (!(value > 0 && value < 1))
    value_error(kMonteCarloEpsilonOp,
                "expected a {} in (0, 1), got {}; no number of samples proves 0", what, value);
}

// Returns the largest estimate of delta for which this number of samples proves o.delta.
double largest_estimate(const MonteCarloEpsilonOptions& o) {
  const auto room = [&](double estimate) {
    return delta_upper_bound(estimate, o.samples, o.failure_probability) - o.delta;
  };
  if (o.samples < 1 || room(0) > 0)
    value_error(
        kMonteCarloEpsilonOp,
        "expected at least {:.0f} samples to prove a delta of {}, got {}; draw more, several "
        "times as many for a tight epsilon",
        std::ceil(std::log(o.failure_probability) / std::log1p(-o.delta)), o.delta, o.samples);
  return internal::find_root(room, 0, o.delta, 1e-6 * o.delta);
}

double least_epsilon(const std::vector<double>& losses, double estimate) {
  const double largest = *std::max_element(losses.begin(), losses.end());
  const auto excess = [&](double epsilon) {
    return delta_from_epsilon_and_samples(epsilon, losses) - estimate;
  };
  if (largest <= 0 || excess(0) <= 0) return 0;
  return internal::find_root(excess, 0, largest, 1e-6);
}

// Returns the least epsilon of the composition of the sampled mechanism with `other`. The delta of
// both together is the mean, over the sampled losses, of other's delta at epsilon - loss.
double least_composed_epsilon(const std::vector<double>& losses, double estimate,
                              internal::DeltaTable& other) {
  const double largest = std::max(*std::max_element(losses.begin(), losses.end()), 0.0);
  const double of_other = other.get_epsilon(estimate);
  if (std::isinf(of_other)) return of_other;
  const auto excess = [&](double epsilon) {
    double sum = 0;
    for (const double loss : losses) sum += other.at_least(epsilon - loss);
    return sum / static_cast<double>(losses.size()) - estimate;
  };
  if (excess(0) <= 0) return 0;
  double upper = largest + of_other;
  while (excess(upper) > 0) upper += 0.01 * (1 + upper);  // a chord is a little above the delta
  return internal::find_root(excess, 0, upper, 1e-6);
}

}  // namespace

uint64_t seed_of_entropy() {
  std::random_device entropy;
  const uint64_t high = entropy();
  return high << 32 | entropy();
}

MonteCarloEpsilon internal::monte_carlo_epsilon(const SelectionLaw& law,
                                                const MonteCarloEpsilonOptions& options,
                                                DeltaTable* other) {
  expect_probability("delta", options.delta);
  expect_probability("failure_probability", options.failure_probability);
  const double estimate = largest_estimate(options);
  const uint64_t seed = options.seed ? *options.seed : seed_of_entropy();
  MonteCarloEpsilon out{.delta = options.delta,
                        .confidence = std::max(1 - 2 * options.failure_probability, 0.0),
                        .samples = options.samples,
                        .seed = seed};
  for (const bool positive : {true, false}) {
    const std::vector<double> losses = privacy_loss_samples(
        law, options.samples,
        {.noise_multiplier = options.noise_multiplier,
         .c_col = options.c_col,
         .seed = 2 * seed * 0x9e3779b97f4a7c15 + (positive ? 0 : 1),  // differs from other seeds'
         .positive_sample = positive});
    out.epsilon = std::max(out.epsilon, other ? least_composed_epsilon(losses, estimate, *other)
                                              : least_epsilon(losses, estimate));
  }
  return out;
}

MonteCarloEpsilon monte_carlo_epsilon(const SelectionLaw& law,
                                      const MonteCarloEpsilonOptions& options) {
  if (!options.other) return internal::monte_carlo_epsilon(law, options, nullptr);
  expect_probability("delta", options.delta);
  internal::DeltaTable other(*options.other, kNegligible * options.delta);
  return internal::monte_carlo_epsilon(law, options, &other);
}

}  // namespace tessera::privacy::accounting
