// A plan of private training: sampler, clipping, noise and guarantee in one value, so that they
// cannot disagree. It corresponds to jax_privacy's DPExecutionPlan.
//
//   const privacy::Plan plan = privacy::make_plan({.num_examples = 60'000, .steps = 1000,
//       .expected_batch_size = 600, .epsilon = 3, .delta = 1e-5, .l2_clip_norm = 1.0});
//   plan.noise_multiplier();  // the least that gives epsilon 3
//   plan.epsilon(100);        // what the first 100 steps spend
//
// privacy::Trainer (trainer.h) trains by a plan. Other training loops use its parts: sampler(),
// clip_options() for clipped_grad, privatizer() for the noise. Nothing may come between the clipped
// sum and the noise; all that follows is post-processing.
//
// The guarantee covers the parameters of all steps, if the sampler's draws stay secret. The
// sampling probability and normalize_by are taken to be public, even if they were computed from
// num_examples.
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

// These structs determine how the noise of a step depends on that of others. The noise of step t is
// row t of C^-1 Z, where the elements of Z are independent and C is the strategy of a matrix
// factorisation (matrix_factorization/).
struct IndependentNoise {};
struct BandedNoise {
  int64_t bands = 1;
  // The first column of the Toeplitz strategy. If empty, it is the optimal one for the mean error.
  matrix_factorization::toeplitz::Coefs strategy = {};
};
struct BufferedNoise {
  // If absent, it is the best one for the largest error, for an example that takes part as often as
  // the sampler allows.
  std::optional<matrix_factorization::buffered_toeplitz::BufferedToeplitz> strategy = std::nullopt;
};
struct DenseNoise {
  matrix_factorization::Matrix strategy;  // lower-triangular, with a row for each step
};
// The noising matrix C^-1 is banded and Toeplitz, and C is not banded. It is for examples that take
// part often (matrix_factorization/banded_inverse.h), and cannot be amplified.
struct BandedInverseNoise {
  int64_t bands = 4;  // bands of C^-1
  // The first column of C^-1. If empty, it is the best one for the mean error of the workload, for
  // an example that takes part as often as the sampler allows.
  matrix_factorization::toeplitz::Coefs noising = {};
  // The first column of the workload, with a coefficient for each step
  // (toeplitz::sgd_workload_coefs). If empty, the workload is prefix sums.
  matrix_factorization::toeplitz::Coefs workload = {};
};
using NoiseStrategy =
    std::variant<IndependentNoise, BandedNoise, BufferedNoise, DenseNoise, BandedInverseNoise>;

// kMonteCarlo draws samples of the loss of BallsInBinsSampling, BMinSepSampling,
// RandomAllocationSampling and CyclicPoissonSampling with independent groups, which have no closed
// form (for the last one it does not assume that the group of an example is known). delta includes
// the probability that the samples mislead.
enum class Accountant : uint8_t { kPld, kRdp, kMonteCarlo };

struct PlanOptions {
  // Poisson sampling of num_examples. Set one of expected_batch_size and sampling_prob; the latter
  // is the probability within the group whose turn it is. With banded noise the examples are
  // divided into as many groups as bands: equal ones, or under kAddOrRemoveOne independent ones.
  int64_t num_examples = 0;
  int64_t steps = 0;
  std::optional<double> expected_batch_size = std::nullopt;
  std::optional<double> sampling_prob = std::nullopt;
  std::optional<int64_t> truncated_batch_size = std::nullopt;
  // Another sampler, in place of the fields above, which it determines.
  std::optional<batch_selection::BatchSelectionStrategy> sampler = std::nullopt;

  // Set one of epsilon and noise_multiplier; the other one is computed. The noise multiplier is in
  // units of sensitivity().
  std::optional<double> epsilon = std::nullopt;
  std::optional<double> noise_multiplier = std::nullopt;
  double delta = 0;
  NeighboringRelation relation = NeighboringRelation::kAddOrRemoveOne;
  Accountant accountant = Accountant::kPld;
  // Whether the accounting uses that the examples of a step are secret (privacy amplification by
  // sampling). This is possible for Poisson samples, for batches of a fixed size under kReplaceOne
  // and kReplaceSpecial, and for the samplers of Accountant::kMonteCarlo, if the noise has no more
  // bands than the sampler's cycle has steps. If false, only the number of steps with an example
  // and their distance are used, which is possible for every sampler and noise.
  bool amplified = true;
  // The number of samples that Accountant::kMonteCarlo draws, twice for each epsilon. It needs at
  // least about 20 / delta, and ten times as many for a tight epsilon. Each sample takes about as
  // many random numbers as there are steps.
  int64_t monte_carlo_samples = 100'000;
  // If absent, it is drawn from entropy. Then a plan for an epsilon has another noise multiplier
  // each time that it is made: to continue a run, set the multiplier, or the seed of the first
  // plan.
  std::optional<uint64_t> monte_carlo_seed = std::nullopt;
  // Other releases of the same data, such as a statistic or another run. Every epsilon of the plan,
  // also that of 0 steps, is that of the composition with them. Throws UserError if the accountant
  // (for Accountant::kMonteCarlo, the PLD accountant) does not support the event, or if the event
  // alone spends a given epsilon.
  std::optional<accounting::DpEvent> other_releases = std::nullopt;
  // If above 1, the guarantee is for users, each of whom owns at most so many of the examples
  // (batch_selection::bound_contributions). If amplified, it needs Poisson samples and the PLD
  // accountant. To clip all of a user's examples as one, take the users as examples
  // (batch_selection::UserSelectionStrategy).
  int64_t examples_per_user = 1;
  // The distribution of the noise of a step; NoiseStrategy determines how it is correlated over the
  // steps. If absent, it is DiscreteGaussian (a plan with a noise_multiplier of 0 has none). That
  // supports independent or banded noise, without rescale_to_unit_norm and adaptive_clip_norm.
  // Other plans must name Gaussian, and so accept what floating-point noise leaks
  // (docs/privacy.md). The coefficients of a banded strategy are rounded to multiples of 2^-8 of
  // the first one, and the sensitivity is that of the rounded coefficients.
  std::optional<Mechanism> mechanism = std::nullopt;
  NoiseStrategy strategy = IndependentNoise{};
  // The source of the noise. With kSystem, privatizer() takes no key, and DenseNoise is a
  // UserError.
  RandomSource random_source = RandomSource::kKey;
  // Factors, each from a given step on, of the noise and of the expected batch size (or
  // sampling_prob). For example, {{0, 1}, {500, 2}} doubles them from step 500 on. Calibration
  // scales the whole schedule of the noise. The noise schedule needs amplified, independent or
  // dense noise. The batch size schedule needs Poisson sampling without `sampler`; each step's sum
  // is divided by its own expected batch size, unless normalize_by is given.
  accounting::Schedule<double> noise_schedule = 1.0;
  accounting::Schedule<double> batch_size_schedule = 1.0;

  double l2_clip_norm = 1;
  std::vector<SubtreeNorm> subtree_norms = {};  // as in ClipOptions, but only numbers
  bool rescale_to_unit_norm = false;
  // The divisor of the clipped sum. If absent, it is the expected batch size.
  std::optional<double> normalize_by = std::nullopt;
  NanSafe nan_safe = NanSafe::kExample;

  // Factors of all clip norms, each from a given step on. For example, {{0, 1}, {500, 0.5}} halves
  // them from step 500 on. The noise of a step is proportional to its clip norm, so the guarantee
  // is that of the plan without the schedule.
  accounting::Schedule<double> clip_norm_schedule = 1.0;
  // A clip norm that begins with l2_clip_norm and follows a quantile of the gradients' norms. It
  // costs a part of the privacy budget, and excludes subtree_norms. The guarantee covers the clip
  // norms, too.
  std::optional<AdaptiveClipNorm> adaptive_clip_norm = std::nullopt;
};

namespace internal {
struct Round;       // plan_rounds.h
struct SampledRun;  // plan_monte_carlo.h
}  // namespace internal

class Plan {
 public:
  // Constructs a checked plan; see make_plan().
  explicit Plan(PlanOptions options);

  const batch_selection::BatchSelectionStrategy& sampler() const { return *options_.sampler; }
  const batch_selection::SamplingDescription& sampling() const { return sampling_; }
  // Returns the options on which the guarantee depends. The caller adds those that depend on the
  // loss function, such as batch_argnums.
  ClipOptions clip_options() const;
  // Returns the options of one step: with the clip norms that clip_norm_schedule has for it, also
  // if the sum is rescaled, and with DiscreteGaussian with the grid of the step. Throws UserError
  // outside [0, steps()).
  ClipOptions clip_options(int64_t step) const;

  int64_t steps() const { return sampling_.iterations; }
  double expected_batch_size() const { return batch_selection::expected_batch_size(sampling_); }
  double delta() const { return options_.delta; }
  NeighboringRelation relation() const { return options_.relation; }
  double noise_multiplier() const { return *options_.noise_multiplier; }
  // Returns the norm by which one participation moves the clipped sum: l2_clip_norm, or 1 if the
  // sum is rescaled, divided by normalize_by; with subtree_norms see privacy::sensitivity.
  // (Replacing an example moves the sum twice as much, which the accountants take into account.)
  double clipped_norm() const;
  // Returns clipped_norm() times the sensitivity of the noise's strategy: to one participation if
  // the plan is amplified, otherwise to as many as the sampler allows an example. With an adaptive
  // clip norm it is the sensitivity of sum and count together.
  double sensitivity() const;
  // Returns the factor of a step in clip_norm_schedule (1 without one): by it the clip norm of the
  // step, and so its sum and its noise, differ from clipped_norm() and stddev().
  double clip_norm_factor(int64_t step) const;
  bool has_clip_norm_schedule() const {
    return options_.clip_norm_schedule != accounting::Schedule<double>(1.0);
  }
  const std::optional<AdaptiveClipNorm>& adaptive_clip_norm() const {
    return options_.adaptive_clip_norm;
  }
  // Returns the factor by which the count of an adaptive clip norm becomes a coordinate of the sum.
  double count_scale() const { return count_scale_ * clipped_norm(); }
  // Returns the standard deviation of the noise before it is mixed over steps: noise_multiplier *
  // sensitivity, in units of the private sum, also for DiscreteGaussian. With a schedule, the noise
  // of a step is noise_factor(step) times as large, and its private sum is multiplied by
  // update_factor(step), which is the first expected batch size divided by its own.
  double stddev() const { return is_private_ ? noise_multiplier() * sensitivity() : 0; }
  double stddev(int64_t step) const { return stddev() * noise_factor(step); }
  double noise_factor(int64_t step) const;
  bool has_noise_schedule() const {
    return options_.noise_schedule != accounting::Schedule<double>(1.0);
  }
  double update_factor(int64_t step) const;

  // Returns the epsilon at delta() of the first `steps` steps together with other_releases. It is
  // infinite without noise, and 0 for 0 steps without other releases. It takes some milliseconds;
  // computations for a single step are cached. Throws UserError outside [0, steps()].
  double epsilon(int64_t steps) const;
  double epsilon() const { return epsilon_; }  // the epsilon of all steps
  // Returns the epsilon that samples prove for the first `steps` steps (at least 1), with its
  // confidence; epsilon(steps) returns the same epsilon. Throws UserError if the accountant is not
  // Accountant::kMonteCarlo or there is no noise.
  accounting::MonteCarloEpsilon monte_carlo_epsilon(int64_t steps) const;
  // Returns the event of the first `steps` steps. Throws UserError with Accountant::kMonteCarlo,
  // whose plans have no event.
  accounting::DpEvent event(int64_t steps) const;

  const matrix_factorization::StreamingMatrix& noising_matrix() const { return noising_matrix_; }
  // Returns the transformation that adds the noise to sums clipped by clip_options(). With
  // DiscreteGaussian it accepts sums of whole steps (int32) and returns float32 in the units of
  // l2_clip_norm, divided by normalize_by. If there is no key, one is drawn from entropy; with
  // RandomSource::kSystem there must be none. Throws UserError if there is a noise_schedule: then
  // use scaled_privatizer. Divide its sums by noise_factor(step) before it, and multiply its
  // results by that. (Sums of whole steps, clipped by clip_options(step), are not divided.)
  optim::Transformation<internal::Privatizer> privatizer(
      const std::optional<random::Key>& key = std::nullopt) const;
  optim::Transformation<internal::Privatizer> scaled_privatizer(
      const std::optional<random::Key>& key = std::nullopt) const;
  RandomSource random_source() const { return options_.random_source; }
  // Returns the mechanism that the options name, or the default. The grid of DiscreteGaussian is
  // always set.
  const Mechanism& mechanism() const { return *options_.mechanism; }
  // Returns `key` for privatizer(), or nullopt for RandomSource::kSystem, with which it accepts no
  // key.
  std::optional<random::Key> noise_key(const random::Key& key) const;
  // Throws a UserError that names `op` for RandomSource::kSystem, with which a run cannot have a
  // key of the user.
  void expect_keyed(std::string_view op) const;

  // Throws UserError unless the accounting is for batches of this sampler.
  void check_sampler(const batch_selection::SamplingDescription& description) const;

  // Returns a plan of the same form for a run that is NOT private: the same batches, no clipping,
  // no noise, and an infinite epsilon. It shows what privacy costs in accuracy. Its to_string()
  // begins with "NOT PRIVATE", and none of its states can continue under this plan.
  Plan without_privacy() const;
  bool is_private() const { return is_private_; }

  // Returns 64 hexadecimal digits, which are equal for equal plans: a digest of `rest` and of
  // everything on which the guarantee depends.
  std::string fingerprint(const std::string& rest = {}) const;

 private:
  void resolve_strategy();
  void expect_mechanism() const;
  // Chooses the grid of DiscreteGaussian for noise of this multiplier, if the options name none.
  void choose_grid(double noise_multiplier);
  void expect_grid() const;
  // Returns the noise of this multiplier in steps of the grid; nullopt without DiscreteGaussian.
  std::optional<double> grid_steps(double noise_multiplier) const;
  // Returns the parameter of the discrete Gaussian that is drawn for this multiplier, which is
  // larger for banded noise, since that is drawn on a finer lattice (noise/discrete_banded.h).
  std::optional<double> drawn_steps(double noise_multiplier) const;
  bool is_banded() const { return std::holds_alternative<BandedNoise>(options_.strategy); }
  // accounted_multiplier returns the multiplier of the Gaussian mechanism whose guarantee the plan
  // has if its multiplier is noise_multiplier. covered_multiplier is the inverse: it returns the
  // least multiplier of the plan with the guarantee of this Gaussian mechanism.
  double accounted_multiplier(double noise_multiplier) const;
  double covered_multiplier(double accounted_multiplier) const;
  void resolve_clip_norm();
  // Sets the noise multiplier to covered_multiplier(accounted_multiplier).
  void set_accounted_multiplier(double accounted_multiplier);
  double strategy_sensitivity(int64_t steps) const;
  // Returns the event for a Gaussian mechanism with this noise multiplier.
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

  PlanOptions options_;  // complete, with defaults filled in
  batch_selection::SamplingDescription sampling_;
  // The strategy: its first column if it is Toeplitz (with an entry for each step for
  // BufferedNoise), otherwise the whole matrix.
  matrix_factorization::toeplitz::Coefs toeplitz_;
  std::optional<matrix_factorization::Matrix> dense_;
  matrix_factorization::StreamingMatrix noising_matrix_;
  bool normalized_by_batch_ = false;
  accounting::PrivacyAccountant accountant_;  // composed nothing; copies share the grids of a step
  double sensitivity_ = 0;                    // the sensitivity of the strategy
  double epsilon_ = 0;                        // the epsilon of all steps
  // The guarantee of all steps, if the noise was calibrated by samples.
  std::optional<accounting::MonteCarloEpsilon> proven_;
  double count_scale_ = 0;  // in units of clipped_norm(); 0 means that there is no count
  bool is_private_ = true;
};

// Returns one line that describes the plan: "3.00-DP ..., 1000 steps of poisson samples, ...".
std::string to_string(const Plan& plan);

// Returns a checked plan. Throws UserError (kValue) for: DiscreteGaussian, named or not, with
// options that it does not support, or whose noise is below 8 or above 2^24 steps of the grid;
// RandomSource::kSystem with DenseNoise; numbers outside their range (also NaN and an infinite clip
// norm); neither or both of expected_batch_size and sampling_prob, of epsilon and noise_multiplier,
// and of a sampler and the fields that it replaces; a sampler that does not fit the neighbouring
// relation, or that no accountant supports, with the schedules or for users; too few samples for
// delta; more bands than the cycle has steps; a strategy with fewer rows than there are steps, or
// that is not lower-triangular with a diagonal without 0; an epsilon that no noise reaches.
Plan make_plan(const PlanOptions& options);

}  // namespace tessera::privacy
