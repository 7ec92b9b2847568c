// A plan of private training: sampler, clipping, noise and guarantee as one value, so that they
// cannot disagree. jax_privacy's DPExecutionPlan.
//
//   const privacy::TrainingPlan plan = privacy::make_plan({.num_examples = 60'000, .steps = 1000,
//       .expected_batch_size = 600, .epsilon = 3, .delta = 1e-5, .l2_clip_norm = 1.0});
//   plan.noise_multiplier();  // the least that gives epsilon 3
//   plan.epsilon(100);        // what the first 100 steps spend
//
// privacy::Trainer (trainer.h) trains by a plan. Who writes the loop takes its parts: sampler(),
// clip_options() for clipped_grad, privatizer() for the noise. Nothing may come between the clipped
// sum and the noise; whatever follows is post-processing.
//
// The guarantee is for the parameters of all steps, where the sampler's draws stay secret. The
// sampling probability and normalize_by count as public, also where they were made of num_examples.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/privacy/accounting/accountant.h"
#include "tessera/privacy/accounting/monte_carlo_epsilon.h"
#include "tessera/privacy/accounting/training.h"
#include "tessera/privacy/adaptive_clip_norm.h"
#include "tessera/privacy/batch_selection/strategies.h"
#include "tessera/privacy/clipping/clip_options.h"
#include "tessera/privacy/matrix_factorization/buffered_toeplitz.h"
#include "tessera/privacy/noise/mechanism.h"
#include "tessera/privacy/noise/noise_addition.h"

namespace tessera::privacy {

// How the noise of a step depends on that of others: row t of C^-1 Z, where Z is independent and C
// the strategy of a matrix factorisation (matrix_factorization/).
struct IndependentNoise {};
struct BandedNoise {
  int64_t bands = 1;
  // The first column of the Toeplitz strategy. Empty: the optimal one for the mean error.
  matrix_factorization::toeplitz::Coefs strategy = {};
};
struct BufferedNoise {
  // Absent: the best for the largest error, for an example that takes part as often as the sampler
  // lets it.
  std::optional<matrix_factorization::buffered_toeplitz::BufferedToeplitz> strategy = std::nullopt;
};
struct DenseNoise {
  matrix_factorization::Matrix strategy;  // lower-triangular, a row for each step
};
// A noising matrix C^-1 that is banded and Toeplitz, while C is not banded: for examples that take
// part often (matrix_factorization/banded_inverse.h). Not amplified.
struct BandedInverseNoise {
  int64_t bands = 4;  // of C^-1
  // The first column of C^-1. Empty: the best one for the mean error of the workload, for an example
  // that takes part as often as the sampler lets it.
  matrix_factorization::toeplitz::Coefs noising = {};
  // The first column of the workload, a coefficient for each step (toeplitz::sgd_workload_coefs).
  // Empty: prefix sums.
  matrix_factorization::toeplitz::Coefs workload = {};
};
using NoiseStrategy =
    std::variant<IndependentNoise, BandedNoise, BufferedNoise, DenseNoise, BandedInverseNoise>;

// kMonteCarlo: samples of the loss of BallsInBinsSampling, BMinSepSampling, RandomAllocationSampling and
// CyclicPoissonSampling of independent groups, which have no closed form (of the last, that nobody
// knows an example's group counts too). That they mislead is counted in delta.
enum class Accountant : uint8_t { kPld, kRdp, kMonteCarlo };

struct PlanOptions {
  // Poisson sampling of num_examples, by one of expected_batch_size and sampling_prob (within the
  // group whose turn it is). Banded noise deals them into as many groups as bands: equal ones, or
  // under kAddOrRemoveOne independent ones.
  int64_t num_examples = 0;
  int64_t steps = 0;
  std::optional<double> expected_batch_size = std::nullopt;
  std::optional<double> sampling_prob = std::nullopt;
  std::optional<int64_t> truncated_batch_size = std::nullopt;
  // Or any sampler, which says all of these itself.
  std::optional<batch_selection::BatchSelectionStrategy> sampler = std::nullopt;

  // One of them follows from the other. In units of sensitivity().
  std::optional<double> epsilon = std::nullopt;
  std::optional<double> noise_multiplier = std::nullopt;
  double delta = 0;
  NeighboringRelation relation = NeighboringRelation::kAddOrRemoveOne;
  Accountant accountant = Accountant::kPld;
  // That it is secret which examples a step has counts (privacy amplification by sampling): with
  // Poisson samples, batches of one size under kReplaceOne and kReplaceSpecial, and the samplers of
  // Accountant::kMonteCarlo. Noise: no more bands than the sampler's cycle has steps. false: only how
  // often, and in which distance, an example can take part; for every sampler and noise.
  bool amplified = true;
  // Accountant::kMonteCarlo draws so many, twice for each epsilon: at least some 20 / delta, for a tight
  // epsilon ten times as many. Each costs about as many draws as there are steps.
  int64_t monte_carlo_samples = 100'000;
  // Absent: drawn from entropy. Then a plan by epsilon has another noise multiplier each time that it is
  // made: to go on with a run, give the multiplier, or the seed of the first plan.
  std::optional<uint64_t> monte_carlo_seed = std::nullopt;
  // What else is released of the same data, such as a statistic of it or another run: every epsilon of
  // the plan, that of 0 steps too, is of the composition with it. UserError for an event that the
  // accountant does not support (the PLD's, with Accountant::kMonteCarlo), or that spends a given
  // epsilon by itself.
  std::optional<accounting::DpEvent> other_releases = std::nullopt;
  // Above 1 the guarantee is for users, who own at most so many of the examples each
  // (batch_selection::bound_contributions). Amplified: Poisson samples, PLD. To clip all of a user's
  // examples as one, take the users as examples (batch_selection::UserSelectionStrategy).
  int64_t examples_per_user = 1;
  // Of which distribution the noise of a step is, and how it is correlated over the steps. Absent:
  // DiscreteGaussian (a plan of a noise_multiplier of 0 has none). It takes independent or banded noise,
  // without rescale_to_unit_norm and adaptive_clip_norm: a plan with anything else names Gaussian, which
  // accepts what float noise leaks (docs/privacy.md). The coefficients of a banded strategy are rounded to
  // multiples of 2^-8 of the first one, and the sensitivity is that of the rounded ones.
  std::optional<Mechanism> mechanism = std::nullopt;
  NoiseStrategy strategy = IndependentNoise{};
  // kSystem: privatizer() takes no key, and DenseNoise is refused.
  RandomSource random_source = RandomSource::kKey;
  // What holds from steps on, as factors of the noise and of the expected batch size (or
  // sampling_prob): {{0, 1}, {500, 2}} doubles from step 500 on. Noise that is calibrated scales the
  // whole schedule. Noise: amplified, or independent, or dense. Batch size: Poisson, without
  // `sampler`; each step's sum is divided by its own expected batch size, unless normalize_by is given.
  accounting::Schedule<double> noise_schedule = 1.0;
  accounting::Schedule<double> batch_size_schedule = 1.0;

  double l2_clip_norm = 1;
  std::vector<SubtreeNorm> subtree_norms = {};  // as ClipOptions; numbers
  bool rescale_to_unit_norm = false;
  // What the clipped sum is divided by. Absent: the expected batch size.
  std::optional<double> normalize_by = std::nullopt;
  NanSafe nan_safe = NanSafe::kExample;

  // The clip norms (of parts too) over the steps, as factors: {{0, 1}, {500, 0.5}} halves them from
  // step 500 on. The noise of a step follows its clip norm, so the guarantee is that of the plan
  // without the schedule.
  accounting::Schedule<double> clip_norm_schedule = 1.0;
  // Or a clip norm that begins with l2_clip_norm and follows a quantile of the gradients' norms, for
  // some of the noise; without subtree_norms. The guarantee covers the clip norms too.
  std::optional<AdaptiveClipNorm> adaptive_clip_norm = std::nullopt;
};

namespace internal {
struct Round;       // plan_rounds.h
struct SampledRun;  // plan_monte_carlo.h
}  // namespace internal

class TrainingPlan {
 public:
  // As make_plan.
  explicit TrainingPlan(PlanOptions options);

  const batch_selection::BatchSelectionStrategy& sampler() const { return *options_.sampler; }
  const batch_selection::SamplingDescription& sampling() const { return sampling_; }
  // Those that the guarantee depends on; which arguments are batches is the loss function's to say.
  ClipOptions clip_options() const;
  // The same with the clip norms of a step by clip_norm_schedule, also where the sum is rescaled; with
  // DiscreteGaussian with the grid of the step. UserError outside [0, steps()).
  ClipOptions clip_options(int64_t step) const;

  int64_t steps() const { return sampling_.iterations; }
  double expected_batch_size() const { return batch_selection::expected_batch_size(sampling_); }
  double delta() const { return options_.delta; }
  NeighboringRelation relation() const { return options_.relation; }
  double noise_multiplier() const { return *options_.noise_multiplier; }
  // By how much one participation moves the clipped sum: l2_clip_norm, 1 where rescaled, by
  // normalize_by; with subtree_norms as privacy::sensitivity. (Of an example that is replaced by
  // another one: twice that; accountants know.)
  double clipped_norm() const;
  // clipped_norm() times the sensitivity of the noise's strategy: to one participation where the
  // plan is amplified, else to all that the sampler lets an example have. With an adaptive clip norm
  // it is that of the sum and the count together.
  double sensitivity() const;
  // With a clip_norm_schedule: by how much the clip norm of a step, and so its sum and its noise, are
  // more than clipped_norm() and stddev().
  double clip_norm_factor(int64_t step) const;
  bool has_clip_norm_schedule() const {
    return options_.clip_norm_schedule != accounting::Schedule<double>(1.0);
  }
  const std::optional<AdaptiveClipNorm>& adaptive_clip_norm() const {
    return options_.adaptive_clip_norm;
  }
  // What the count of an adaptive clip norm is multiplied by to be a coordinate of the sum.
  double count_scale() const { return count_scale_ * clipped_norm(); }
  // Of the noise before it is mixed over steps: noise_multiplier * sensitivity, in units of the private
  // sum, also of DiscreteGaussian. With a schedule that
  // of a step is noise_factor(step) times as much, and a step's private sum is multiplied by
  // update_factor(step), the first expected batch size over its own.
  double stddev() const { return is_private_ ? noise_multiplier() * sensitivity() : 0; }
  double stddev(int64_t step) const { return stddev() * noise_factor(step); }
  double noise_factor(int64_t step) const;
  bool has_noise_schedule() const {
    return options_.noise_schedule != accounting::Schedule<double>(1.0);
  }
  double update_factor(int64_t step) const;

  // What the first `steps` steps spend, at delta(), with other_releases; infinite without noise, and 0
  // for 0 steps and nothing else. Some milliseconds each, for what it makes of a step it makes once.
  // UserError outside [0, steps()].
  double epsilon(int64_t steps) const;
  double epsilon() const { return epsilon_; }  // of all steps
  // Returns what samples prove of the first `steps` steps, at least 1, and how sure that is; epsilon(steps)
  // is its epsilon. UserError if the accountant is not Accountant::kMonteCarlo or there is no noise.
  accounting::MonteCarloEpsilon monte_carlo_epsilon(int64_t steps) const;
  // What the first `steps` steps do to the data. UserError of Accountant::kMonteCarlo, which has none.
  accounting::DpEvent event(int64_t steps) const;

  const matrix_factorization::StreamingMatrix& noising_matrix() const { return noising_matrix_; }
  // Returns what makes the sum that clip_options() clips private. Of DiscreteGaussian it takes sums of
  // whole steps (int32) and gives float32 in the units of l2_clip_norm, divided by normalize_by.
  // Without a key one is drawn from entropy; of RandomSource::kSystem it is left out, else UserError.
  // UserError where there is a noise_schedule: then scaled_privatizer's is the noise of sums divided
  // by noise_factor(step), and its results are multiplied by it. (Sums of whole steps, which
  // clip_options(step) clips, are not divided.)
  optim::Transformation<internal::Privatizer> privatizer(
      const std::optional<random::Key>& key = std::nullopt) const;
  optim::Transformation<internal::Privatizer> scaled_privatizer(
      const std::optional<random::Key>& key = std::nullopt) const;
  RandomSource random_source() const { return options_.random_source; }
  // The mechanism that was named or chosen; the grid of DiscreteGaussian is never absent.
  const Mechanism& mechanism() const { return *options_.mechanism; }
  // Returns a key as privatizer() takes it: none for RandomSource::kSystem.
  std::optional<random::Key> noise_key(const random::Key& key) const;
  // UserError naming `op` for RandomSource::kSystem, with which a run can have no key of the user's.
  void expect_keyed(std::string_view op) const;

  // UserError unless batches of this sampler are those that are accounted for.
  void check_sampler(const batch_selection::SamplingDescription& description) const;

  // A plan of the same shape for a run that is NOT private: the same batches, no clipping, no noise,
  // an infinite epsilon. It shows what privacy costs in accuracy. to_string() begins with "NOT
  // PRIVATE", and no state of it goes on under this plan.
  TrainingPlan without_privacy() const;
  bool is_private() const { return is_private_; }

  // 64 hexadecimal digits, of all that the guarantee depends on, and of `rest`: equal plans have
  // equal ones.
  std::string fingerprint(const std::string& rest = {}) const;

 private:
  void resolve_strategy();
  void expect_mechanism() const;
  // Sets the grid of DiscreteGaussian, if the options name none, for noise of this multiplier.
  void choose_grid(double noise_multiplier);
  void expect_grid() const;
  // How many steps of the grid the noise of a multiplier is. Absent without DiscreteGaussian.
  std::optional<double> grid_steps(double noise_multiplier) const;
  // The parameter of the discrete Gaussian that is drawn for it: of banded noise on a finer lattice
  // (noise/discrete_banded.h).
  std::optional<double> drawn_steps(double noise_multiplier) const;
  bool is_banded() const { return std::holds_alternative<BandedNoise>(options_.strategy); }
  // The multiplier of the Gaussian mechanism that covers the plan's, and the least of the plan's that
  // it covers so.
  double accounted_multiplier(double noise_multiplier) const;
  double covered_multiplier(double accounted_multiplier) const;
  void resolve_clip_norm();
  // Sets the noise multiplier to the least that a Gaussian mechanism of this one covers.
  void set_accounted_multiplier(double accounted_multiplier);
  double strategy_sensitivity(int64_t steps) const;
  // Of a Gaussian mechanism with this noise multiplier.
  accounting::DpEvent event(int64_t steps, double accounted_multiplier) const;
  double computed_epsilon(int64_t steps) const;
  accounting::DpEvent amplified_event(int64_t steps, double noise_multiplier) const;
  accounting::DpEvent round_event(const internal::Round& round, double noise_multiplier) const;
  void expect_accountant() const;
  void expect_other_releases() const;
  accounting::DpEvent event_of_steps(int64_t steps, double accounted_multiplier) const;
  void resolve_by_samples();
  bool by_samples() const { return options_.accountant == Accountant::kMonteCarlo; }
  internal::SampledRun sampled_run() const;
  accounting::DpAccountantConfig accountant_config() const;
  void resolve_noise();

  PlanOptions options_;  // with nothing left out
  batch_selection::SamplingDescription sampling_;
  // The strategy: its first column where it is Toeplitz (of BufferedNoise for all steps), else
  // whole.
  matrix_factorization::toeplitz::Coefs toeplitz_;
  std::optional<matrix_factorization::Matrix> dense_;
  matrix_factorization::StreamingMatrix noising_matrix_;
  bool normalized_by_batch_ = false;
  accounting::PrivacyAccountant accountant_;  // of nothing: copies share the grids of a step
  double sensitivity_ = 0;                    // of the strategy
  double epsilon_ = 0;                        // of all steps
  // Of all steps, if the noise was calibrated by samples.
  std::optional<accounting::MonteCarloEpsilon> proven_;
  double count_scale_ = 0;  // in units of clipped_norm(); 0: there is no count
  bool is_private_ = true;
};

// "3.00-DP ..., 1000 steps of poisson samples, ...": in one line, for people.
std::string to_string(const TrainingPlan& plan);

// A checked plan. UserError (kValue): DiscreteGaussian, named or not, with what it is not for, or whose noise is below 8
// or above 2^24 steps of the grid; RandomSource::kSystem with DenseNoise; numbers outside their range (NaN too, an infinite clip norm),
// neither or both of expected_batch_size and sampling_prob, of epsilon and noise_multiplier, of a
// sampler and numbers of another one; a sampler that does not fit the neighbouring relation, or has
// no accountant, with the schedules or for users; too few samples for delta; more bands than the cycle has steps; a strategy of fewer rows than there are steps,
// or that is not lower-triangular with a diagonal other than 0; an epsilon that no noise reaches.
TrainingPlan make_plan(const PlanOptions& options);

}  // namespace tessera::privacy
