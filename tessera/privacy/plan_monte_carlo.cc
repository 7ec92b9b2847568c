#include "tessera/privacy/plan_monte_carlo.h"

#include <cmath>

#include "tessera/base/format.h"

namespace tessera::privacy::internal {
namespace {

using accounting::SelectionLaw;
using batch_selection::SamplingDescription;
using batch_selection::SamplingMethod;

constexpr const char* kPlanMonteCarloOp = "privacy::make_plan";
constexpr double kFailure = 0.01;       // of delta: the probability that one result is wrong
constexpr int64_t kSearch = kMaxTries;  // the attempt that searches for noise, and proves nothing

struct Experiment {
  SelectionLaw law;
  double noise;
};

// Returns the experiment for the first steps of the run. With independent noise, the rounds of
// balls in bins are equivalent to one round with less noise. For a random allocation it is the
// whole run, which reveals no less than a part of it.
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

}  // namespace

accounting::MonteCarloEpsilon sampled_epsilon(const SampledRun& run, int64_t steps, double noise,
                                              int64_t attempt) {
  const double failure = kFailure * run.delta;
  const double proven = run.delta * (1 - kFailure * static_cast<double>(kMaxTries));
  const double least = std::ceil(std::log(failure) / std::log1p(-proven));
  if (!(static_cast<double>(run.samples) >= least))
    value_error(kPlanMonteCarloOp,
                "expected at least {:.0f} monte_carlo_samples to prove a delta of {}, got {}; draw "
                "more, several times as many for a tight epsilon",
                least, run.delta, run.samples);
  const Experiment what = experiment(run, steps, noise);
  return accounting::internal::monte_carlo_epsilon(
      what.law,
      {.noise_multiplier = what.noise,
       .c_col = run.strategy,
       .delta = proven,
       .samples = run.samples,
       .failure_probability = failure,
       .seed = run.seed * 0x9e3779b97f4a7c15 +
               static_cast<uint64_t>(attempt)},  // other seeds give other numbers
      run.other.get());
}

SampledNoise sampled_noise(const SampledRun& run, double target_epsilon) {
  const int64_t steps = run.sampling.iterations;
  const auto fits = [&](double noise) {
    return sampled_epsilon(run, steps, noise, kSearch).epsilon <= 0.98 * target_epsilon;
  };
  double lower = 1, upper = 1;
  while (!fits(upper)) {
    lower = upper, upper *= 2;
    if (upper > 1e6)
      value_error(kPlanMonteCarloOp,
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
    const accounting::MonteCarloEpsilon proven = sampled_epsilon(run, steps, upper, attempt);
    if (proven.epsilon <= target_epsilon) return {upper, proven};
  }
  value_error(kPlanMonteCarloOp,
              "expected samples that agree on an epsilon of {}, got {} that do not; draw more",
              target_epsilon, run.samples);
}

}  // namespace tessera::privacy::internal
