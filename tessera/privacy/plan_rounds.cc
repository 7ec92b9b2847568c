#include "tessera/privacy/plan_rounds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "tessera/base/format.h"

namespace tessera::privacy::internal {
namespace {

using accounting::Schedule;
using batch_selection::SamplingDescription;

// Returns the first step after `step` at which something changes.
int64_t next_change(const Schedule<double>& noise, const SamplingDescription& sampling,
                    int64_t step) {
  int64_t next = std::numeric_limits<int64_t>::max();
  const auto see = [&](const auto& changes) {
    for (const auto& [first, value] : changes)
      if (first > step) next = std::min(next, first);
  };
  see(noise.changes());
  see(sampling.sampling_prob_changes);
  return next;
}

}  // namespace

void expect_factors(const char* what, const Schedule<double>& schedule) {
  const auto& changes = schedule.changes();
  const bool ascending =
      std::adjacent_find(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
        return a.first >= b.first;
      }) == changes.end();
  if (changes.empty() || changes[0].first != 0 || !ascending)
    value_error("privacy::make_plan",
                "expected a {} whose steps ascend from 0, got {} of them{}; say what holds from "
                "step 0 on, then what changes",
                what, changes.size(),
                changes.empty() ? "" : fmt::format(" from {}", changes[0].first));
  for (const auto& [step, factor] : changes)
    if (!(factor > 0 && std::isfinite(factor)))
      value_error("privacy::make_plan",
                  "expected finite factors above 0 in {}, got {} from step {}", what, factor, step);
}

double factor_at(const Schedule<double>& schedule, int64_t step) {
  double out = schedule.changes()[0].second;
  for (const auto& [first, factor] : schedule.changes())
    if (first <= step) out = factor;
  return out;
}

std::vector<Round> rounds(const Schedule<double>& noise, const SamplingDescription& sampling,
                          int64_t steps) {
  const int64_t cycle = sampling.cycle_length;
  std::vector<Round> out;
  const auto add = [&](const Round& round) {
    if (!out.empty() && out.back().noise_factor == round.noise_factor &&
        out.back().sampling_prob == round.sampling_prob)
      out.back().count += round.count;
    else
      out.push_back(round);
  };
  for (int64_t step = 0; step < steps;) {
    const int64_t change = std::min(next_change(noise, sampling, step), steps);
    Round round{std::max<int64_t>((change - step) / cycle, 1), factor_at(noise, step),
                at_step(sampling, step).sampling_prob};
    const int64_t end = std::min(step + round.count * cycle, steps);
    for (int64_t at = change; at < end; at = next_change(noise, sampling, at)) {
      round.noise_factor = std::min(round.noise_factor, factor_at(noise, at));
      round.sampling_prob = std::max(round.sampling_prob, at_step(sampling, at).sampling_prob);
    }
    add(round);
    step += round.count * cycle;
  }
  return out;
}

double squared_sensitivity(const Schedule<double>& noise,
                           const matrix_factorization::Participation& participation,
                           int64_t steps) {
  const int64_t all = (steps - 1) / participation.min_sep + 1;
  const int64_t most = std::min(participation.max_participations.value_or(all), all);
  if (noise.is_constant())
    return static_cast<double>(most) / std::pow(noise.changes()[0].second, 2);
  std::vector<double> weights;
  for (int64_t t = 0; t < steps; ++t) weights.push_back(std::pow(factor_at(noise, t), -2));
  if (most < all) {  // a bound: the sum over the `most` largest weights, at any distances
    std::sort(weights.begin(), weights.end(), std::greater<>());
    return std::accumulate(weights.begin(), weights.begin() + most, 0.0);
  }
  std::vector<double> best(weights.size() + 1);  // best[t]: the largest sum over steps before t
  for (size_t t = 0; t < weights.size(); ++t) {
    const auto separation = static_cast<size_t>(participation.min_sep);
    const double before = t + 1 >= separation ? best[t + 1 - separation] : 0;
    best[t + 1] = std::max(best[t], before + weights[t]);
  }
  return best.back();
}

}  // namespace tessera::privacy::internal
