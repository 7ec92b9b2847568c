#include "tessera/privacy/plan.h"

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"
#include "tessera/privacy/accounting/events.h"
#include "tessera/privacy/accounting/large_delta.h"
#include "tessera/privacy/digest.h"
#include "tessera/privacy/matrix_factorization/buffered_toeplitz_optimization.h"
#include "tessera/privacy/matrix_factorization/sensitivity.h"
#include "tessera/privacy/matrix_factorization/toeplitz.h"
#include "tessera/privacy/noise/discrete_banded.h"
#include "tessera/privacy/plan_monte_carlo.h"
#include "tessera/privacy/plan_rounds.h"
#include "tessera/privacy/plan_strategy.h"

namespace tessera::privacy {
namespace {

namespace mf = matrix_factorization;
using batch_selection::SamplingDescription;
using batch_selection::SamplingMethod;
using mf::toeplitz::Coefs;

constexpr const char* kPlanOp = "privacy::make_plan";

void expect_positive(const char* what, double value) {
  if (!(value > 0 && std::isfinite(value)))
    value_error(kPlanOp, "expected a finite {} above 0, got {}", what, value);
}

// Throws UserError for invalid clip norms. With subtree_norms, l2_clip_norm may be 0, for the case
// that the paths name all leaves.
void expect_clip_norms(const PlanOptions& o) {
  if (o.subtree_norms.empty() || o.l2_clip_norm != 0)
    expect_positive("l2_clip_norm", o.l2_clip_norm);
  for (const SubtreeNorm& subtree : o.subtree_norms)
    expect_positive("norm of each part that is a number", subtree.l2_clip_norm.number());
}

void expect_one_of(const char* a, bool has_a, const char* b, bool has_b) {
  if (has_a != has_b) return;
  value_error(kPlanOp, "expected one of {} and {}, got {}; the other one follows from it", a, b,
              has_a ? "both" : "neither");
}

int64_t bands_of(const NoiseStrategy& strategy) {
  const auto* banded = std::get_if<BandedNoise>(&strategy);
  if (!banded) return 1;
  return banded->strategy.empty() ? banded->bands : static_cast<int64_t>(banded->strategy.size());
}

// Returns the probability with which a step samples each example of the group whose turn it is.
double sampling_prob(const PlanOptions& o, int64_t groups, bool equal) {
  if (o.sampling_prob) return *o.sampling_prob;
  expect_positive("expected_batch_size", *o.expected_batch_size);
  const double group = equal ? static_cast<double>(o.num_examples / groups)
                             : static_cast<double>(o.num_examples) / static_cast<double>(groups);
  const double p = *o.expected_batch_size / group;
  if (!(p <= 1))
    value_error(kPlanOp,
                "expected an expected_batch_size of at most {}, the examples of one of {} groups, "
                "got {}; take a smaller one, or fewer bands",
                group, groups, *o.expected_batch_size);
  return p;
}

batch_selection::BatchSelectionStrategy poisson_sampler(const PlanOptions& o) {
  expect_one_of("expected_batch_size", o.expected_batch_size.has_value(), "sampling_prob",
                o.sampling_prob.has_value());
  const int64_t groups = bands_of(o.strategy);
  if (o.num_examples < 1 || o.steps < 1 || groups < 1)
    value_error(kPlanOp,
                "expected num_examples, steps and bands of at least 1, got {}, {} and {}; or give "
                "a sampler",
                o.num_examples, o.steps, groups);
  const bool equal = groups > 1 && o.relation != NeighboringRelation::kAddOrRemoveOne;
  const double base = sampling_prob(o, groups, equal);
  const auto scaled = [&](double factor) {
    if (!(base * factor <= 1))
      value_error(kPlanOp,
                  "expected factors of batch_size_schedule of at most {}, with which all examples "
                  "are sampled, got {}; take a smaller one",
                  1 / base, factor);
    return base * factor;
  };
  std::vector<std::pair<int64_t, double>> changes;
  for (const auto& [step, factor] : o.batch_size_schedule.changes())
    if (step > 0) changes.emplace_back(step, scaled(factor));
  return batch_selection::CyclicPoissonSampling{
      .num_examples = o.num_examples,
      .sampling_prob = scaled(internal::factor_at(o.batch_size_schedule, 0)),
      .iterations = o.steps,
      .truncated_batch_size = o.truncated_batch_size,
      .cycle_length = groups,
      .partition = equal ? batch_selection::PartitionType::kEqualSplit
                         : batch_selection::PartitionType::kIndependent,
      .sampling_prob_changes = std::move(changes)};
}

// Throws UserError if an option repeats what the sampler's description already contains.
void expect_same_numbers(const PlanOptions& o, const SamplingDescription& d) {
  const bool others = o.expected_batch_size || o.sampling_prob || o.truncated_batch_size ||
                      o.batch_size_schedule != accounting::Schedule<double>(1.0);
  if (others || (o.num_examples != 0 && o.num_examples != d.num_examples) ||
      (o.steps != 0 && o.steps != d.iterations))
    value_error(kPlanOp,
                "expected the sampler alone, which says num_examples ({}), steps ({}), sampling "
                "probability, its changes and truncation, got others with it; leave them out",
                d.num_examples, d.iterations);
}

mf::Participation participation_of(const SamplingDescription& d) {
  return {.min_sep = std::max<int64_t>(d.min_sep, 1),
          .max_participations = batch_selection::max_participations(d)};
}

mf::Matrix leading(const mf::Matrix& c, int64_t n) {
  mf::Matrix out = mf::Matrix::zeros(n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) out(i, j) = c(i, j);
  return out;
}

mf::buffered_toeplitz::BufferedToeplitz buffered_strategy(const BufferedNoise& noise,
                                                          const SamplingDescription& d) {
  if (noise.strategy) return *noise.strategy;
  const mf::Participation p = participation_of(d);
  return mf::buffered_toeplitz::optimize(
      {.n = d.iterations, .min_sep = p.min_sep, .max_participations = p.max_participations});
}

// Returns a text that contains all numbers of a description exactly.
std::string exact_text(const SamplingDescription& d) {
  std::string out =
      fmt::format("{} {} {} {:a} {} {} {} {} {} {} {} {} {} {:x}", name(d.method), d.num_examples,
                  d.iterations, d.sampling_prob, d.cycle_length, d.min_sep,
                  d.truncated_batch_size.value_or(-1), static_cast<int>(d.partition), d.batch_size,
                  d.replace, d.warm_start, d.steps_per_example, d.examples_per_user, d.order_hash);
  for (const auto& [step, probability] : d.sampling_prob_changes)
    out += fmt::format(", from {} {:a}", step, probability);
  return out;
}

}  // namespace

Plan::Plan(PlanOptions options)
    : options_(std::move(options)),
      noising_matrix_(mf::identity()),
      accountant_(create_accountant(accountant_config())) {
  // Without noise nothing is drawn: such a plan has Gaussian, which needs no grid.
  if (!options_.mechanism)
    options_.mechanism =
        options_.noise_multiplier == 0.0 ? Mechanism(Gaussian{}) : DiscreteGaussian{};
  internal::expect_factors("noise_schedule", options_.noise_schedule);
  internal::expect_factors("batch_size_schedule", options_.batch_size_schedule);
  normalized_by_batch_ = !options_.normalize_by;
  if (!options_.sampler) {
    options_.sampler = poisson_sampler(options_);
    sampling_ = description(*options_.sampler);
  } else {
    sampling_ = description(*options_.sampler);
    expect_same_numbers(options_, sampling_);
  }
  if (sampling_.iterations < 1 || sampling_.num_examples < 1)
    value_error(kPlanOp, "expected a sampler of at least one step and example, got {} and {}",
                sampling_.iterations, sampling_.num_examples);
  if (options_.examples_per_user < 1)
    value_error(kPlanOp, "expected examples_per_user of at least 1, got {}",
                options_.examples_per_user);
  sampling_.examples_per_user = options_.examples_per_user;
  check_supports(kPlanOp, sampling_, options_.relation);
  expect_clip_norms(options_);
  if (!options_.normalize_by) options_.normalize_by = expected_batch_size();
  expect_positive("normalize_by", *options_.normalize_by);
  if (options_.nan_safe == NanSafe::kNo)
    value_error(kPlanOp,
                "expected NanSafe::kElement or kExample, got kNo, under which one example can make "
                "all parameters NaN");
  expect_mechanism();
  resolve_strategy();
  resolve_noise();
  expect_grid();
  resolve_clip_norm();
}

void Plan::resolve_strategy() {
  const int64_t steps = sampling_.iterations;
  std::visit(
      Overloaded{
          [&](const IndependentNoise&) { toeplitz_ = {1}; },
          [&](const BandedNoise& noise) {
            toeplitz_ = internal::banded_strategy(noise, steps);
            internal::expect_toeplitz(toeplitz_);
            if (std::holds_alternative<DiscreteGaussian>(mechanism()))
              toeplitz_ = internal::on_lattice(kPlanOp, toeplitz_);
            noising_matrix_ = mf::toeplitz_inverse(toeplitz_);
          },
          [&](const BufferedNoise& noise) {
            const auto blt = buffered_strategy(noise, sampling_);
            toeplitz_ = blt.toeplitz_coefs(steps);
            internal::expect_toeplitz(toeplitz_);
            noising_matrix_ = mf::buffered_toeplitz_inverse(blt.buf_decay, blt.output_scale);
          },
          [&](const BandedInverseNoise& noise) {
            const Coefs noising =
                internal::noising_coefs(noise, steps, participation_of(sampling_));
            internal::expect_toeplitz(noising);
            toeplitz_ = mf::toeplitz::inverse_coef(noising, steps);
            noising_matrix_ = mf::toeplitz_matrix(noising);
          },
          [&](const DenseNoise& noise) {
            internal::expect_lower_triangular(noise.strategy);
            if (noise.strategy.rows < steps)
              value_error(kPlanOp,
                          "expected a factorisation of at least {} rows, one a step, got {}; noise "
                          "of a row that is used twice cancels",
                          steps, noise.strategy.rows);
            dense_ = leading(noise.strategy, steps);
            noising_matrix_ = mf::dense_matrix(internal::inverse_of_lower(*dense_).values, steps);
          },
      },
      options_.strategy);
}

void Plan::resolve_noise() {
  const auto& o = options_;
  if (!(o.delta > 0 && o.delta < 1))
    value_error(kPlanOp, "expected a delta in (0, 1), got {}; well below 1 / num_examples",
                o.delta);
  expect_one_of("epsilon", o.epsilon.has_value(), "noise_multiplier",
                o.noise_multiplier.has_value());
  if (o.noise_multiplier && !(*o.noise_multiplier >= 0 && std::isfinite(*o.noise_multiplier)))
    value_error(kPlanOp, "expected a finite noise_multiplier of at least 0, got {}",
                *o.noise_multiplier);
  accounting::warn_of_large_delta(kPlanOp, o.delta, sampling_.num_examples);
  sensitivity_ = strategy_sensitivity(steps());
  if (o.epsilon) expect_positive("epsilon", *o.epsilon);
  expect_other_releases();
  if (o.noise_multiplier) choose_grid(*o.noise_multiplier);
  if (by_samples()) return resolve_by_samples();
  expect_accountant();
  if (o.epsilon)
    set_accounted_multiplier(calibrate_dp_mechanism(
        accountant_config(), [&](double multiplier) { return event(steps(), multiplier); },
        {.target_epsilon = *o.epsilon, .target_delta = o.delta}));
  epsilon_ = computed_epsilon(steps());
}

void Plan::set_accounted_multiplier(double accounted_multiplier) {
  choose_grid(accounted_multiplier);
  options_.noise_multiplier = covered_multiplier(accounted_multiplier);
}

void Plan::expect_other_releases() const {
  if (!options_.other_releases) return;
  accounting::PrivacyAccountant alone = accountant_;
  if (!alone.supports(*options_.other_releases))
    value_error(kPlanOp,
                "expected other_releases that the accountant supports under {}, got {}; take "
                "another accountant, or an event that is larger",
                name(options_.relation), to_string(*options_.other_releases));
  const double spent = alone.compose(*options_.other_releases).get_epsilon(delta());
  if (options_.epsilon && spent >= *options_.epsilon)
    value_error(kPlanOp,
                "expected an epsilon above {}, which other_releases spend by themselves, got {}; "
                "allow more, or release less",
                spent, *options_.epsilon);
}

void Plan::expect_accountant() const {
  if (accountant_.supports(event(steps(), 1))) return;
  value_error(kPlanOp,
              "expected a sampler that the accountant supports under {}, got {} with {}; take "
              "Accountant::{}, CyclicPoissonSampling, or amplified = false",
              name(options_.relation), name(sampling_.method),
              options_.accountant == Accountant::kPld ? "PLD" : "RDP",
              options_.accountant == Accountant::kPld ? "kRdp" : "kPld");
}

internal::SampledRun Plan::sampled_run() const {
  return {
      .sampling = sampling_,
      .strategy = toeplitz_,
      .delta = delta(),
      .samples = options_.monte_carlo_samples,
      .seed = *options_.monte_carlo_seed,
      .other =
          options_.other_releases
              ? std::make_shared<accounting::internal::DeltaTable>(
                    accounting::PldAccountant(options_.relation).compose(*options_.other_releases),
                    1e-5 * delta())
              : nullptr};
}

void Plan::resolve_by_samples() {
  const auto& o = options_;
  const bool cyclic = sampling_.method == SamplingMethod::kPoisson && sampling_.cycle_length > 1 &&
                      sampling_.partition == batch_selection::PartitionType::kIndependent &&
                      !sampling_.truncated_batch_size && sampling_.sampling_prob_changes.empty();
  const bool sampler = cyclic || sampling_.method == SamplingMethod::kBallsInBins ||
                       sampling_.method == SamplingMethod::kBMinSep ||
                       sampling_.method == SamplingMethod::kRandomAllocation;
  if (!sampler || !o.amplified || o.relation == NeighboringRelation::kReplaceOne)
    value_error(
        kPlanOp,
        "expected an amplified plan of balls_in_bins, b_min_sep, random_allocation or Poisson "
        "samples of independent groups (more than one, without truncation or changes) under "
        "add_or_remove_one or replace_special for Accountant::kMonteCarlo, got {} under {}; "
        "take Accountant::kPld",
        name(sampling_.method), name(o.relation));
  if (!internal::amplifiable(o.strategy) || o.examples_per_user > 1 || has_noise_schedule())
    value_error(kPlanOp,
                "expected independent or banded noise of one multiplier, and one example a user, "
                "for Accountant::kMonteCarlo; amplified = false with Accountant::kPld accounts for "
                "others");
  if (!o.monte_carlo_seed) options_.monte_carlo_seed = accounting::seed_of_entropy();
  if (o.epsilon) {
    const internal::SampledNoise found = internal::sampled_noise(sampled_run(), *o.epsilon);
    set_accounted_multiplier(found.noise / sensitivity_);
    proven_ = found.proven;
    epsilon_ = proven_->epsilon;
  } else {
    epsilon_ = computed_epsilon(steps());
  }
}

accounting::DpAccountantConfig Plan::accountant_config() const {
  switch (options_.accountant) {
    case Accountant::kRdp:
      return accounting::RdpAccountantConfig{.neighboring_relation = options_.relation};
    case Accountant::kPld:
    case Accountant::kMonteCarlo:  // the accountant of other_releases
      break;
  }
  return accounting::PldAccountantConfig{.neighboring_relation = options_.relation};
}

// If amplified, this is the sensitivity to one participation: a cycle samples an example at most
// once, and bands of different cycles do not overlap (Choquette-Choo et al., arXiv 2306.08153,
// Theorem 4). Otherwise the whole run is one Gaussian mechanism (Denisov et al., arXiv 2202.08312),
// and so are its first steps, because the strategy is lower-triangular.
double Plan::strategy_sensitivity(int64_t steps) const {
  if (options_.amplified && dense_)
    return mf::sensitivity::single_participation_sensitivity(*dense_);
  if (options_.amplified) return std::sqrt(mf::toeplitz::sensitivity_squared(toeplitz_, steps));
  const mf::Participation participation = participation_of(sampling_);
  if (dense_) {
    mf::Matrix scaled = leading(*dense_, steps);
    for (int64_t j = 0; j < steps; ++j)
      for (int64_t i = j; i < steps; ++i) scaled(i, j) /= noise_factor(j);
    return mf::sensitivity::get_min_sep_sensitivity_upper_bound(scaled, participation);
  }
  if (std::holds_alternative<IndependentNoise>(options_.strategy))
    return std::sqrt(internal::squared_sensitivity(options_.noise_schedule, participation, steps));
  if (has_noise_schedule())
    value_error(
        kPlanOp,
        "expected a noise_schedule with independent or dense noise, or in an amplified "
        "plan, got one with noise of another strategy; take DenseNoise of the same strategy");
  return std::sqrt(
      mf::toeplitz::minsep_sensitivity_squared_upper_bound(toeplitz_, participation, steps));
}

// Returns the event of a step for a user of several examples: a mixture of Gaussians over how many
// of these are in the batch (Charles et al., arXiv 2407.07737).
accounting::DpEvent user_event(double noise_multiplier, double sampling_prob, int64_t examples) {
  accounting::MixtureOfGaussiansDpEvent event{noise_multiplier, {}, {}};
  const boost::math::binomial_distribution<double> sampled(static_cast<double>(examples),
                                                           sampling_prob);
  for (int64_t k = 0; k <= examples; ++k) {
    event.sensitivities.push_back(static_cast<double>(k));
    event.sampling_probs.push_back(boost::math::pdf(sampled, static_cast<double>(k)));
  }
  return event;
}

accounting::DpEvent Plan::round_event(const internal::Round& round, double noise_multiplier) const {
  const SamplingDescription& d = sampling_;
  const double noise = noise_multiplier * round.noise_factor;
  if (d.method == SamplingMethod::kFixedBatchSize)
    return accounting::fixed_dpsgd_event(
        noise, round.count,
        {.dataset_size = d.num_examples, .batch_size = d.batch_size, .replace = d.replace});
  if (d.truncated_batch_size)
    return accounting::truncated_dpsgd_event(noise, round.count,
                                             {.sampling_prob = round.sampling_prob,
                                              .num_examples = batch_selection::group_size(d),
                                              .truncated_batch_size = *d.truncated_batch_size});
  if (d.examples_per_user > 1)
    return accounting::SelfComposedDpEvent{
        user_event(noise, round.sampling_prob, d.examples_per_user), round.count};
  return accounting::dpsgd_event(noise, round.count, {.sampling_prob = round.sampling_prob});
}

accounting::DpEvent Plan::amplified_event(int64_t steps, double noise_multiplier) const {
  const SamplingDescription& d = sampling_;
  const char* remedy = "amplified = false accounts for all of them";
  if (!internal::amplifiable(options_.strategy))
    value_error(kPlanOp,
                "expected independent or banded noise in an amplified plan, got another; {}",
                remedy);
  const bool poisson = d.method == SamplingMethod::kPoisson;
  if (!poisson && d.method != SamplingMethod::kFixedBatchSize)
    value_error(kPlanOp,
                "expected Poisson or fixed-size batches in an amplified plan (or, with "
                "Accountant::kMonteCarlo, balls in bins, b-min-sep or random allocation), got {}; "
                "{}",
                name(d.method), remedy);
  const int64_t bands = bands_of(options_.strategy);
  if (bands > d.cycle_length)
    value_error(kPlanOp, "expected at most {} bands, the cycle of the sampler, got {}; {}",
                d.cycle_length, bands, remedy);
  const bool plain = poisson && d.cycle_length == 1 && !d.truncated_batch_size &&
                     options_.accountant == Accountant::kPld &&
                     options_.relation != NeighboringRelation::kReplaceOne;
  if (d.examples_per_user > 1 && !plain)
    value_error(kPlanOp,
                "expected Poisson samples of one group, without truncation, under PLD and "
                "add_or_remove_one or replace_special for users of {} examples; {}",
                d.examples_per_user, remedy);
  std::vector<accounting::DpEvent> events;
  for (const internal::Round& round : internal::rounds(options_.noise_schedule, d, steps))
    events.push_back(round_event(round, noise_multiplier));
  return events.size() == 1 ? events[0] : accounting::ComposedDpEvent{std::move(events)};
}

accounting::DpEvent Plan::event(int64_t steps, double accounted_multiplier) const {
  accounting::DpEvent training = event_of_steps(steps, accounted_multiplier);
  if (!options_.other_releases) return training;
  return accounting::ComposedDpEvent{{*options_.other_releases, std::move(training)}};
}

accounting::DpEvent Plan::event_of_steps(int64_t steps, double accounted_multiplier) const {
  if (steps == 0) return accounting::NoOpDpEvent{};
  if (options_.amplified) return amplified_event(steps, accounted_multiplier);
  if (sampling_.replace)
    value_error(kPlanOp,
                "expected a sampler that has an example at most once in a batch, got {} with "
                "replacement; take replace = false",
                name(sampling_.method));
  const double of_steps = strategy_sensitivity(steps);
  return accounting::GaussianDpEvent{accounted_multiplier * (sensitivity_ / of_steps) /
                                     static_cast<double>(sampling_.examples_per_user)};
}

accounting::DpEvent Plan::event(int64_t steps) const {
  if (steps < 0 || steps > this->steps())
    value_error("privacy::Plan::event",
                "expected between 0 and {} steps, those of the plan, got {}", this->steps(), steps);
  if (by_samples())
    value_error("privacy::Plan::event",
                "expected a plan of Accountant::kPld or kRdp, got one of kMonteCarlo, which has no "
                "events; ask for its epsilon");
  return event(steps, accounted_multiplier(noise_multiplier()));
}

double Plan::computed_epsilon(int64_t steps) const {
  if (steps < 0 || steps > this->steps())
    value_error("privacy::Plan::epsilon",
                "expected between 0 and {} steps, those of the plan, got {}", this->steps(), steps);
  if (steps == 0 && !options_.other_releases) return 0;
  if (steps > 0 && noise_multiplier() == 0) return std::numeric_limits<double>::infinity();
  if (steps > 0 && by_samples()) return monte_carlo_epsilon(steps).epsilon;
  const accounting::DpEvent run = event(steps, accounted_multiplier(noise_multiplier()));
  accounting::PrivacyAccountant accountant = accountant_;
  return accountant.compose(run).get_epsilon(delta());
}

accounting::MonteCarloEpsilon Plan::monte_carlo_epsilon(int64_t steps) const {
  constexpr const char* op = "privacy::Plan::monte_carlo_epsilon";
  if (!by_samples() || noise_multiplier() == 0)
    value_error(
        op,
        "expected a plan of Accountant::kMonteCarlo with noise, got another; ask for its epsilon");
  if (steps < 1 || steps > this->steps())
    value_error(op, "expected between 1 and {} steps, those of the plan, got {}", this->steps(),
                steps);
  if (proven_ && steps == this->steps()) return *proven_;
  return internal::sampled_epsilon(sampled_run(), steps,
                                   accounted_multiplier(noise_multiplier()) * sensitivity_, 0);
}

double Plan::epsilon(int64_t steps) const {
  return steps == this->steps() ? epsilon_ : computed_epsilon(steps);
}

double Plan::noise_factor(int64_t step) const {
  return internal::factor_at(options_.noise_schedule, step);
}

double Plan::update_factor(int64_t step) const {
  if (!normalized_by_batch_ || sampling_.sampling_prob_changes.empty()) return 1;
  return expected_batch_size() / batch_selection::expected_batch_size(at_step(sampling_, step));
}

void Plan::check_sampler(const SamplingDescription& d) const {
  if (d == sampling_) return;
  value_error("privacy::Plan::check_sampler",
              "expected the sampler that is accounted for ({}), got another ({}); take "
              "plan.sampler(), or make a plan of yours",
              exact_text(sampling_), exact_text(d));
}

std::string Plan::fingerprint(const std::string& rest) const {
  std::string strategy;
  for (double c : dense_ ? dense_->values : toeplitz_) strategy += fmt::format(" {:a}", c);
  for (const auto& [step, factor] : options_.noise_schedule.changes())
    strategy += fmt::format(" from {} {:a}", step, factor);
  const PlanOptions& o = options_;
  for (const auto& [step, factor] : o.clip_norm_schedule.changes())
    strategy += fmt::format(" clipped from {} {:a}", step, factor);
  if (o.adaptive_clip_norm)
    strategy += fmt::format(" adaptive {:a} {:a} {:a}", o.adaptive_clip_norm->target_quantile,
                            o.adaptive_clip_norm->learning_rate, count_scale_);
  if (o.other_releases) strategy += " beside " + to_string(*o.other_releases);
  if (!is_private_) strategy += " not private";
  for (const SubtreeNorm& subtree : o.subtree_norms)
    strategy += fmt::format(" {}:{} {:a}", subtree.path.size(), subtree.path,
                            subtree.l2_clip_norm.number());
  if (const auto* grid = std::get_if<DiscreteGaussian>(&mechanism()))
    strategy += fmt::format(" grid {}", *grid->grid_scale);
  if (o.random_source == RandomSource::kSystem) strategy += " system";
  return internal::digest_of(
      fmt::format("{} | {:a} {:a} {} {} {} | {} {:a} {} {} {:a} {} | {}{} | {}",
                  exact_text(sampling_), noise_multiplier(), o.delta, static_cast<int>(o.relation),
                  static_cast<int>(o.accountant), o.amplified, noising_matrix_.tree_static_key(),
                  o.l2_clip_norm, o.rescale_to_unit_norm, normalized_by_batch_, *o.normalize_by,
                  static_cast<int>(o.nan_safe), o.strategy.index(), strategy, rest));
}

std::string to_string(const Plan& plan) {
  const char* relation = name(plan.relation());
  if (!plan.is_private())
    return fmt::format(
        "NOT PRIVATE (no clipping, no noise, epsilon infinite): {} steps of {} batches of {:.4g} "
        "on "
        "average",
        plan.steps(), name(plan.sampling().method), plan.expected_batch_size());
  std::string whole_numbers;
  if (const auto* grid = std::get_if<DiscreteGaussian>(&plan.mechanism()))
    whole_numbers = fmt::format(", in whole numbers of 1/{} of the clip norm", *grid->grid_scale);
  return fmt::format(
      "epsilon {:.4g} at delta {:.3g} ({}) for {} steps of {} batches of {:.4g} on average; noise "
      "multiplier {:.4g}, stddev {:.4g}{}",
      plan.epsilon(), plan.delta(), relation, plan.steps(), name(plan.sampling().method),
      plan.expected_batch_size(), plan.noise_multiplier(), plan.stddev(), whole_numbers);
}

Plan make_plan(const PlanOptions& options) { return Plan(options); }

}  // namespace tessera::privacy
