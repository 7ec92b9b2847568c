#include "tessera/privacy/accounting/training.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <set>

#include "tessera/privacy/accounting/checks.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::accounting {

namespace {

constexpr const char* kTrainingOp = "privacy::compute_epsilon";

// A number of steps with one noise multiplier and batch size.
struct Phase {
  int64_t steps;
  double noise_multiplier;
  int64_t batch_size;
};

// Returns the changes of a schedule in the order of their steps. Throws UserError unless the first
// is at step 0.
template <class T>
std::vector<std::pair<int64_t, T>> sorted(const char* what, const Schedule<T>& schedule) {
  std::vector<std::pair<int64_t, T>> changes = schedule.changes();
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (changes.empty() || changes[0].first != 0)
    value_error(kTrainingOp,
                "expected a schedule of {} that starts at step 0, got {}; add the first value",
                what, changes.empty() ? "none" : std::to_string(changes[0].first));
  return changes;
}

template <class T>
T value_at(const std::vector<std::pair<int64_t, T>>& changes, int64_t step) {
  const auto after = std::find_if(changes.begin(), changes.end(),
                                  [&](const auto& change) { return change.first > step; });
  return std::prev(after)->second;
}

std::vector<Phase> phases(int64_t num_updates, const DpParams& params) {
  const auto noises = sorted("noise multipliers", *params.noise_multipliers);
  const auto sizes = sorted("batch sizes", params.batch_sizes());
  std::set<int64_t> starts;
  for (const auto& [step, value] : noises) starts.insert(step);
  for (const auto& [step, value] : sizes) starts.insert(step);
  std::vector<Phase> out;
  for (auto start = starts.begin(); start != starts.end() && *start < num_updates; ++start) {
    const auto next = std::next(start);
    const int64_t end = next == starts.end() ? num_updates : std::min(*next, num_updates);
    out.push_back({end - *start, value_at(noises, *start), value_at(sizes, *start)});
  }
  return out;
}

void expect_updates(int64_t num_updates) {
  if (num_updates < 0)
    value_error(kTrainingOp, "expected a number of updates that is not negative, got {}; 0 is none",
                num_updates);
}

void expect_params(int64_t num_updates, const DpParams& params) {
  expect_updates(num_updates);
  if (!params.noise_multipliers)
    value_error(kTrainingOp, "expected noise_multipliers, got none; set them in DpParams");
  internal::expect_delta(kTrainingOp, params.delta);
}

void expect_samples(int64_t num_samples) {
  if (num_samples < 1)
    value_error(
        kTrainingOp,
        "expected at least one sample for each group, got {}; set num_samples, or a smaller "
        "cycle_length",
        num_samples);
}

bool is_pld(const DpAccountantConfig& config) {
  return std::holds_alternative<PldAccountantConfig>(config);
}

void expect_dpsgd(const DpAccountantConfig& config, const DpParams& params) {
  if (params.examples_per_user.value_or(1) != 1)
    value_error(kTrainingOp,
                "expected one example a user, got {}; take DpsgdTrainingUserLevelAccountant",
                *params.examples_per_user);
  if (params.cycle_length && *params.cycle_length < 1)
    value_error(kTrainingOp, "expected a cycle of at least one step, got {}; 1 is DP-SGD",
                *params.cycle_length);
  if (params.cycle_length.value_or(1) != 1 &&
      !(params.batch_sizes().is_constant() && params.noise_multipliers->is_constant()))
    value_error(kTrainingOp,
                "expected one batch size and noise multiplier for a cycle of {} steps, got a "
                "schedule; give one value of each",
                *params.cycle_length);
  if (!params.truncated_batch_size) return;
  if (params.sampling_method != SamplingMethod::kPoisson)
    value_error(kTrainingOp,
                "expected Poisson sampling with a truncated_batch_size, got batches of one size; "
                "they need no truncation");
  if (!is_pld(config))
    value_error(kTrainingOp,
                "expected PLD accounting with a truncated_batch_size, got RDP; take a "
                "PldAccountantConfig");
}

DpEvent dpsgd_step(const Phase& phase, const DpParams& params) {
  const int64_t group = params.num_samples / params.cycle_length.value_or(1);
  expect_samples(group);
  const double q = static_cast<double>(phase.batch_size) / static_cast<double>(group);
  if (!(q >= 0 && q <= 1))
    value_error(kTrainingOp,
                "expected batches of at most {} samples (num_samples / cycle_length), got {}; take "
                "fewer",
                group, phase.batch_size);
  if (params.truncated_batch_size)
    return TruncatedSubsampledGaussianDpEvent{group, q, *params.truncated_batch_size,
                                              phase.noise_multiplier};
  switch (params.sampling_method) {
    case SamplingMethod::kPoisson:
      break;
    case SamplingMethod::kFixedBatchSize:
      return SampledWithoutReplacementDpEvent{group, phase.batch_size,
                                              GaussianDpEvent{phase.noise_multiplier}};
  }
  return PoissonSampledDpEvent{q, GaussianDpEvent{phase.noise_multiplier}};
}

void expect_user_level(const DpAccountantConfig& config, const DpParams& params) {
  if (!params.examples_per_user)
    value_error(kTrainingOp, "expected examples_per_user, got none; set it in DpParams");
  if (*params.examples_per_user < 1 || *params.examples_per_user > params.num_samples)
    value_error(kTrainingOp,
                "expected between 1 and {} examples a user, got {}; no user has more than all",
                params.num_samples, *params.examples_per_user);
  if (params.cycle_length.value_or(1) != 1)
    value_error(kTrainingOp, "expected a cycle_length of 1 for users, got {}; leave it out",
                *params.cycle_length);
  if (params.truncated_batch_size)
    value_error(kTrainingOp, "expected no truncated_batch_size for users, got {}; leave it out",
                *params.truncated_batch_size);
  // In a batch of fixed size a user's examples take the place of others, so their number does not
  // determine how far the sum moves.
  if (params.sampling_method != SamplingMethod::kPoisson)
    value_error(kTrainingOp,
                "expected Poisson sampling for users, got batches of one size, whose loss is not "
                "known; take SamplingMethod::kPoisson, or clip all of a user's examples as one");
  if (!is_pld(config))
    value_error(kTrainingOp,
                "expected PLD accounting for users, got RDP; take a PldAccountantConfig");
}

// Returns the event of one step for a user of several examples: a mixture of Gaussians over how
// many of these are in the batch.
DpEvent user_level_step(const Phase& phase, const DpParams& params) {
  const int64_t examples = *params.examples_per_user;
  if (phase.batch_size < 0 || phase.batch_size > params.num_samples)
    value_error(kTrainingOp, "expected batches of at most {} samples, got {}; take fewer",
                params.num_samples, phase.batch_size);
  MixtureOfGaussiansDpEvent event{phase.noise_multiplier, {}, {}};
  const boost::math::binomial_distribution<double> sampled(
      static_cast<double>(examples),
      static_cast<double>(phase.batch_size) / static_cast<double>(params.num_samples));
  for (int64_t k = 0; k <= examples; ++k) {
    event.sensitivities.push_back(static_cast<double>(k));
    event.sampling_probs.push_back(boost::math::pdf(sampled, static_cast<double>(k)));
  }
  return event;
}

template <class Accountant>
double epsilon_of(const Accountant& accountant, int64_t num_updates, const DpParams& params) {
  expect_updates(num_updates);
  if (num_updates == 0) return 0;
  if (!params.is_finite_guarantee) return kInfinity;
  return create_accountant(accountant.config)
      .compose(accountant.event(num_updates, params))
      .get_epsilon(params.delta);
}

}  // namespace

Schedule<int64_t> DpParams::batch_sizes() const {
  if (batch_size_scale_schedule.empty()) return batch_size;
  if (!batch_size.is_constant())
    value_error(kTrainingOp,
                "expected one batch size with a batch_size_scale_schedule, got a schedule; give "
                "one or the other");
  double size = static_cast<double>(batch_size.changes()[0].second);
  std::vector<std::pair<int64_t, int64_t>> changes = batch_size.changes();
  for (const auto& [step, factor] : batch_size_scale_schedule) {
    size *= factor;
    if (!(factor >= 0) || size != std::floor(size) || size > 9e15)
      value_error(kTrainingOp,
                  "expected factors that give whole batch sizes, got {} from step {} on; choose "
                  "another factor than {}",
                  size, step, factor);
    changes.emplace_back(step, static_cast<int64_t>(size));
  }
  return Schedule<int64_t>(std::move(changes));
}

DpEvent DpsgdTrainingAccountant::event(int64_t num_updates, const DpParams& params) const {
  expect_params(num_updates, params);
  expect_dpsgd(config, params);
  const int64_t cycle = params.cycle_length.value_or(1);
  ComposedDpEvent run;
  for (const Phase& phase : phases(num_updates, params))
    run.events.push_back(SelfComposedDpEvent{dpsgd_step(phase, params),
                                             phase.steps / cycle + (phase.steps % cycle > 0)});
  return run;
}

DpEvent DpsgdTrainingUserLevelAccountant::event(int64_t num_updates, const DpParams& params) const {
  expect_params(num_updates, params);
  expect_samples(params.num_samples);
  expect_user_level(config, params);
  ComposedDpEvent run;
  for (const Phase& phase : phases(num_updates, params))
    run.events.push_back(SelfComposedDpEvent{user_level_step(phase, params), phase.steps});
  return run;
}

DpEvent SingleReleaseTrainingAccountant::event(int64_t num_updates, const DpParams& params) const {
  expect_params(num_updates, params);
  if (params.examples_per_user.value_or(1) != 1)
    value_error(kTrainingOp,
                "expected one example a user for a single release, got {}; clip users instead",
                *params.examples_per_user);
  ComposedDpEvent run;
  for (const Phase& phase : phases(num_updates, params))
    run.events.push_back(GaussianDpEvent{phase.noise_multiplier});
  return run;
}

double DpsgdTrainingAccountant::compute_epsilon(int64_t num_updates, const DpParams& params) const {
  return epsilon_of(*this, num_updates, params);
}
double DpsgdTrainingUserLevelAccountant::compute_epsilon(int64_t num_updates,
                                                         const DpParams& params) const {
  return epsilon_of(*this, num_updates, params);
}
double SingleReleaseTrainingAccountant::compute_epsilon(int64_t num_updates,
                                                        const DpParams& params) const {
  return epsilon_of(*this, num_updates, params);
}

DpEvent DpTrainingAccountant::event(int64_t num_updates, const DpParams& params) const {
  return std::visit([&](const auto& a) { return a.event(num_updates, params); }, accountant_);
}
double DpTrainingAccountant::compute_epsilon(int64_t num_updates, const DpParams& params) const {
  return std::visit([&](const auto& a) { return a.compute_epsilon(num_updates, params); },
                    accountant_);
}

CachedExperimentAccountant::CachedExperimentAccountant(DpTrainingAccountant training_accountant,
                                                       int64_t max_num_updates,
                                                       int64_t num_cached_points)
    : accountant_(std::move(training_accountant)),
      max_num_updates_(max_num_updates),
      num_cached_points_(num_cached_points) {
  if (max_num_updates < 1 || num_cached_points < 1)
    value_error(
        "privacy::CachedExperimentAccountant",
        "expected at least one update and one cached point, got {} and {}; give the length of "
        "the run",
        max_num_updates, num_cached_points);
}

double CachedExperimentAccountant::cached(int64_t num_updates, const DpParams& params) {
  if (params_ != params) {
    params_ = params;
    values_.assign(static_cast<size_t>(num_cached_points_) + 1, std::nan(""));
  }
  // `point` is the first j for which max_num_updates * j / num_cached_points is at least
  // num_updates.
  const auto ceil_div = [](int64_t a, int64_t b) { return a / b + (a % b > 0); };
  const int64_t point = ceil_div(num_cached_points_ * num_updates, max_num_updates_);
  double& value = values_[static_cast<size_t>(point)];
  if (std::isnan(value))
    value =
        accountant_.compute_epsilon(ceil_div(max_num_updates_ * point, num_cached_points_), params);
  return value;
}

double CachedExperimentAccountant::compute_epsilon(int64_t num_updates, const DpParams& params,
                                                   bool allow_approximate_cache) {
  if (!allow_approximate_cache) return accountant_.compute_epsilon(num_updates, params);
  if (num_updates < 0 || num_updates > max_num_updates_)
    value_error("privacy::CachedExperimentAccountant",
                "expected at most max_num_updates = {} updates, got {}; make it larger",
                max_num_updates_, num_updates);
  return cached(num_updates, params);
}

}  // namespace tessera::privacy::accounting
