#include "tessera/privacy/plan_monte_carlo.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/format.h"
#include "tessera/privacy/accounting/delta_calculation.h"
#include "tessera/privacy/accounting/monte_carlo.h"
#include "tessera/privacy/accounting/special_functions.h"

namespace tessera::privacy::internal {
namespace {

using accounting::SelectionLaw;
using batch_selection::SamplingDescription;
using batch_selection::SamplingMethod;

constexpr const char* kOp = "privacy::make_plan";
constexpr double kFailure = 0.01;       // of delta: the chance that one answer is wrong
constexpr int64_t kSearch = kMaxTries;  // the attempt that finds noise, and proves nothing

struct Experiment {
  SelectionLaw law;
  double noise;
};

// The run's first steps. Independent noise of the rounds of balls in bins adds up to one round of less noise;
// of a random allocation the whole run shows no less than a part of it.
Experiment experiment(const SampledRun& run, int64_t steps, double noise) {
  const SamplingDescription& d = run.sampling;
  if (d.method == SamplingMethod::kBMinSep)
    return {accounting::BMinSepLaw{.sampling_prob = d.sampling_prob,
                                   .iterations = steps,
                                   .min_sep = d.min_sep,
                                   .warm_start = d.warm_start,
                                   .truncated_batch_size = d.truncated_batch_size,
                                   .dataset_size = d.num_examples},
            noise};
  if (d.method == SamplingMethod::kRandomAllocation)
    return {accounting::RandomAllocationLaw{.iterations = d.iterations,
                                            .selections = d.steps_per_example},
            noise};
  if (d.method == SamplingMethod::kPoisson)
    return {
        accounting::CyclicPoissonLaw{
            .sampling_prob = d.sampling_prob, .iterations = steps, .cycle_length = d.cycle_length},
        noise};
  const int64_t rounds = (steps - 1) / d.cycle_length + 1;
  if (run.strategy.size() > 1 || rounds == 1)
    return {accounting::BallsInBinsLaw{.iterations = steps, .cycle_length = d.cycle_length}, noise};
  return {accounting::BallsInBinsLaw{.iterations = d.cycle_length, .cycle_length = d.cycle_length},
          noise / std::sqrt(static_cast<double>(rounds))};
}

// The largest estimate of delta that proves it, of so many samples.
double largest_estimate(const SampledRun& run) {
  const double proven = run.delta * (1 - kFailure * static_cast<double>(kMaxTries));
  const auto room = [&](double estimate) {
    return accounting::delta_upper_bound(estimate, run.samples, kFailure * run.delta) - proven;
  };
  if (run.samples < 1 || room(0) > 0)
    value_error(kOp,
                "expected at least {:.0f} monte_carlo_samples to prove a delta of {}, got {}; draw "
                "more, several times as many for a tight epsilon",
                std::ceil(-std::log(kFailure * run.delta) / -std::log1p(-proven)), run.delta,
                run.samples);
  return accounting::internal::find_root(room, 0, proven, 1e-6 * proven);
}

double least_epsilon(const std::vector<double>& losses, double estimate) {
  const double largest = *std::max_element(losses.begin(), losses.end());
  const auto excess = [&](double epsilon) {
    return accounting::delta_from_epsilon_and_samples(epsilon, losses) - estimate;
  };
  if (largest <= 0 || excess(0) <= 0) return 0;
  return accounting::internal::find_root(excess, 0, largest, 1e-6);
}

}  // namespace

double sampled_epsilon(const SampledRun& run, int64_t steps, double noise, int64_t attempt) {
  const double estimate = largest_estimate(run);
  const Experiment what = experiment(run, steps, noise);
  double epsilon = 0;
  for (const bool positive : {true, false}) {
    const uint64_t stream = 2 * static_cast<uint64_t>(attempt) + (positive ? 0 : 1);
    const std::vector<double> losses = accounting::privacy_loss_samples(
        what.law, run.samples,
        {.noise_multiplier = what.noise,
         .c_col = run.strategy,
         .seed = run.seed * 0x9e3779b97f4a7c15 + stream,  // apart from those of other seeds
         .positive_sample = positive});
    epsilon = std::max(epsilon, least_epsilon(losses, estimate));
  }
  return epsilon;
}

SampledNoise sampled_noise(const SampledRun& run, double target_epsilon) {
  const int64_t steps = run.sampling.iterations;
  const auto fits = [&](double noise) {
    return sampled_epsilon(run, steps, noise, kSearch) <= 0.98 * target_epsilon;
  };
  double lower = 1, upper = 1;
  while (!fits(upper)) {
    lower = upper, upper *= 2;
    if (upper > 1e6)
      value_error(kOp,
                  "expected an epsilon that some noise is seen to reach, got {}; draw more "
                  "monte_carlo_samples than {}, or allow a larger epsilon",
                  target_epsilon, run.samples);
  }
  while (lower == upper || (lower > 1e-3 && fits(lower))) upper = lower, lower /= 2;
  while (upper > 1.005 * lower) {
    const double middle = std::sqrt(lower * upper);
    (fits(middle) ? upper : lower) = middle;
  }
  for (int64_t attempt = 0; attempt < kMaxTries; ++attempt, upper *= 1.02) {
    const double epsilon = sampled_epsilon(run, steps, upper, attempt);
    if (epsilon <= target_epsilon) return {upper, epsilon};
  }
  value_error(kOp, "expected samples that agree on an epsilon of {}, got {} that do not; draw more",
              target_epsilon, run.samples);
}

}  // namespace tessera::privacy::internal
