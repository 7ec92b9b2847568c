// A plan of private training: sampler, clipping, noise and guarantee as one value, so that they
// cannot disagree. It corresponds to jax_privacy's DPExecutionPlan.
//
//   const privacy::Plan plan = privacy::make_plan({.num_examples = 60'000, .steps = 1000,
//       .expected_batch_size = 600, .epsilon = 3, .delta = 1e-5, .l2_clip_norm = 1.0});
//   plan.noise_multiplier();  // the least that gives epsilon 3
//   plan.epsilon(100);        // what the first 100 steps spend
//
// privacy::Trainer (trainer.h) trains by a plan. A training loop of your own uses its parts:
// sampler(), clip_options() for clipped_grad, privatizer() for the noise. Nothing may come between
// the clipped sum and the noise; whatever follows is post-processing.
//
// The guarantee covers the parameters of all steps, if the sampler's draws stay secret. The
// sampling probability and normalize_by count as public, also if they were computed from
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

// How the noise of a step depends on that of others: it is row t of C^-1 Z, where Z is independent
// and C is the strategy of a matrix factorisation (matrix_factorization/).
struct IndependentNoise {};
struct BandedNoise {
  int64_t bands = 1;
  // The first column of the Toeplitz strategy. Empty: the one that is optimal for the mean error.
  matrix_factorization::toeplitz::Coefs strategy = {};
};
struct BufferedNoise {
  // Absent: the one that is best for the largest error, for an example that takes part as often as
  // the sampler allows.
  std::optional<matrix_factorization::buffered_toeplitz::BufferedToeplitz> strategy = std::nullopt;
};
struct DenseNoise {
  matrix_factorization::Matrix strategy;  // lower-triangular, with a row for each step
};
// A noising matrix C^-1 that is banded and Toeplitz, while C is not banded. It is for examples that
// take part often (matrix_factorization/banded_inverse.h), and is not amplified.
struct BandedInverseNoise {
  int64_t bands = 4;  // of C^-1
  // The first column of C^-1. Empty: the one that is best for the mean error of the workload, for
  // an example that takes part as often as the sampler allows.
  matrix_factorization::toeplitz::Coefs noising = {};
  // The first column of the workload, a coefficient for each step (toeplitz::sgd_workload_coefs).
  // Empty: prefix sums.
  matrix_factorization::toeplitz::Coefs workload = {};
};
using NoiseStrategy =
    std::variant<IndependentNoise, BandedNoise, BufferedNoise, DenseNoise, BandedInverseNoise>;

// kMonteCarlo draws samples of the loss of BallsInBinsSampling, BMinSepSampling,
// RandomAllocationSampling and CyclicPoissonSampling with independent groups, which have no closed
// form (for the last, even if somebody knows an example's group). delta includes the probability
// that the samples mislead.
enum class Accountant : uint8_t { kPld, kRdp, kMonteCarlo };

struct PlanOptions {
  // Poisson sampling of num_examples, given one of expected_batch_size and sampling_prob (within
  // the group whose turn it is). With banded noise the examples are divided into as many groups as
  // bands: equal ones, or under kAddOrRemoveOne independent ones.
  int64_t num_examples = 0;
  int64_t steps = 0;
  std::optional<double> expected_batch_size = std::nullopt;
  std::optional<double> sampling_prob = std::nullopt;
  std::optional<int64_t> truncated_batch_size = std::nullopt;
  // Or any sampler, which defines all of these itself.
  std::optional<batch_selection::BatchSelectionStrategy> sampler = std::nullopt;

  // Give one of them; the other one follows. The noise multiplier is in units of sensitivity().
  std::optional<double> epsilon = std::nullopt;
  std::optional<double> noise_multiplier = std::nullopt;
  double delta = 0;
  NeighboringRelation relation = NeighboringRelation::kAddOrRemoveOne;
  Accountant accountant = Accountant::kPld;
  // Whether it counts that the examples of a step are secret (privacy amplification by sampling):
  // for Poisson samples, batches of one size under kReplaceOne and kReplaceSpecial, and the
  // samplers of Accountant::kMonteCarlo. The noise must have no more bands than the sampler's cycle
  // has steps. false: only the number of steps with an example, and their distance, count; for
  // every sampler and noise.
  bool amplified = true;
  // The number of samples that Accountant::kMonteCarlo draws, twice for each epsilon: at least some
  // 20 / delta, for a tight epsilon ten times as many. Each costs about as many draws as there are
  // steps.
  int64_t monte_carlo_samples = 100'000;
  // Absent: it is drawn from entropy. Then a plan by epsilon has another noise multiplier each time
  // that it is made; to continue a run, give the multiplier, or the seed of the first plan.
  std::optional<uint64_t> monte_carlo_seed = std::nullopt;
  // What else is released of the same data, such as a statistic or another run: every epsilon of
  // the plan, also that of 0 steps, is that of the composition with it. Throws UserError for an
  // event that the accountant does not support (with Accountant::kMonteCarlo: that the PLD
  // accountant does not), or that spends a given epsilon by itself.
  std::optional<accounting::DpEvent> other_releases = std::nullopt;
  // If it is above 1 the guarantee is for users, each of whom owns at most so many of the examples
  // (batch_selection::bound_contributions). If amplified, it needs Poisson samples and the PLD
  // accountant. To clip all of a user's examples as one, take the users as examples
  // (batch_selection::UserSelectionStrategy).
  int64_t examples_per_user = 1;
  // The distribution of the noise of a step; NoiseStrategy says how it is correlated over the
  // steps. Absent: DiscreteGaussian (a plan with a noise_multiplier of 0 has none). That accepts
  // independent or banded noise, without rescale_to_unit_norm and adaptive_clip_norm: a plan with
  // anything else must name Gaussian, which accepts what float noise leaks (docs/privacy.md). The
  // coefficients of a banded strategy are rounded to multiples of 2^-8 of the first one, and the
  // sensitivity is that of the rounded ones.
  std::optional<Mechanism> mechanism = std::nullopt;
  NoiseStrategy strategy = IndependentNoise{};
  // With kSystem, privatizer() takes no key, and DenseNoise is rejected.
  RandomSource random_source = RandomSource::kKey;
  // Values that hold from steps on, as factors of the noise and of the expected batch size (or
  // sampling_prob): {{0, 1}, {500, 2}} doubles from step 500 on. Calibration scales the whole
  // schedule of the noise. The noise schedule needs amplified, independent or dense noise. The
  // batch size schedule needs Poisson sampling without `sampler`; each step's sum is divided by its
  // own expected batch size, unless normalize_by is given.
  accounting::Schedule<double> noise_schedule = 1.0;
  accounting::Schedule<double> batch_size_schedule = 1.0;

  double l2_clip_norm = 1;
  std::vector<SubtreeNorm> subtree_norms = {};  // as in ClipOptions; only numbers
  bool rescale_to_unit_norm = false;
  // The divisor of the clipped sum. Absent: the expected batch size.
  std::optional<double> normalize_by = std::nullopt;
  NanSafe nan_safe = NanSafe::kExample;

  // The clip norms (also of parts) over the steps, as factors: {{0, 1}, {500, 0.5}} halves them
  // from step 500 on. The noise of a step follows its clip norm, so the guarantee is that of the
  // plan without the schedule.
  accounting::Schedule<double> clip_norm_schedule = 1.0;
  // Or a clip norm that begins with l2_clip_norm and follows a quantile of the gradients' norms,
  // which costs some of the noise; it excludes subtree_norms. The guarantee covers the clip norms,
  // too.
  std::optional<AdaptiveClipNorm> adaptive_clip_norm = std::nullopt;
};

namespace internal {
struct Round;       // plan_rounds.h
struct SampledRun;  // plan_monte_carlo.h
}  // namespace internal

class Plan {
 public:
  // See make_plan.
  explicit Plan(PlanOptions options);

  const batch_selection::BatchSelectionStrategy& sampler() const { return *options_.sampler; }
  const batch_selection::SamplingDescription& sampling() const { return sampling_; }
  // Returns the options on which the guarantee depends; which arguments are batches depends on the
  // loss function.
  ClipOptions clip_options() const;
  // Returns the same with the clip norms that clip_norm_schedule has for a step, also if the sum is
  // rescaled; with DiscreteGaussian also with the grid of the step. Throws UserError outside [0,
  // steps()).
  ClipOptions clip_options(int64_t step) const;

  int64_t steps() const { return sampling_.iterations; }
  double expected_batch_size() const { return batch_selection::expected_batch_size(sampling_); }
  double delta() const { return options_.delta; }
  NeighboringRelation relation() const { return options_.relation; }
  double noise_multiplier() const { return *options_.noise_multiplier; }
  // Returns by how much one participation moves the clipped sum: l2_clip_norm, or 1 if it is
  // rescaled, divided by normalize_by; with subtree_norms see privacy::sensitivity. (An example
  // that is replaced by another one moves it twice as much, which the accountants take into
  // account.)
  double clipped_norm() const;
  // Returns clipped_norm() times the sensitivity of the noise's strategy: to one participation if
  // the plan is amplified, otherwise to all that the sampler allows an example. With an adaptive
  // clip norm it is that of the sum and the count together.
  double sensitivity() const;
  // With a clip_norm_schedule, returns by what factor the clip norm of a step, and so its sum and
  // its noise, are larger than clipped_norm() and stddev().
  double clip_norm_factor(int64_t step) const;
  bool has_clip_norm_schedule() const {
    return options_.clip_norm_schedule != accounting::Schedule<double>(1.0);
  }
  const std::optional<AdaptiveClipNorm>& adaptive_clip_norm() const {
    return options_.adaptive_clip_norm;
  }
  // Returns the factor that makes the count of an adaptive clip norm a coordinate of the sum.
  double count_scale() const { return count_scale_ * clipped_norm(); }
  // Returns the standard deviation of the noise before it is mixed over steps: noise_multiplier *
  // sensitivity, in units of the private sum, also for DiscreteGaussian. With a schedule, that of a
  // step is noise_factor(step) times as much, and a step's private sum is multiplied by
  // update_factor(step), the first expected batch size over its own.
  double stddev() const { return is_private_ ? noise_multiplier() * sensitivity() : 0; }
  double stddev(int64_t step) const { return stddev() * noise_factor(step); }
  double noise_factor(int64_t step) const;
  bool has_noise_schedule() const {
    return options_.noise_schedule != accounting::Schedule<double>(1.0);
  }
  double update_factor(int64_t step) const;

  // Returns what the first `steps` steps spend, at delta(), with other_releases: infinite without
  // noise, and 0 for 0 steps without other releases. It takes some milliseconds; the computations
  // for a step are cached. Throws UserError outside [0, steps()].
  double epsilon(int64_t steps) const;
  double epsilon() const { return epsilon_; }  // of all steps
  // Returns what samples prove about the first `steps` steps, at least 1, and with what confidence;
  // epsilon(steps) is its epsilon. Throws UserError if the accountant is not
  // Accountant::kMonteCarlo or there is no noise.
  accounting::MonteCarloEpsilon monte_carlo_epsilon(int64_t steps) const;
  // Returns what the first `steps` steps do to the data. Throws UserError with
  // Accountant::kMonteCarlo, which has no event.
  accounting::DpEvent event(int64_t steps) const;

  const matrix_factorization::StreamingMatrix& noising_matrix() const { return noising_matrix_; }
  // Returns the transformation that makes the sum private that clip_options() clips. With
  // DiscreteGaussian it accepts sums of whole steps (int32) and returns float32 in the units of
  // l2_clip_norm, divided by normalize_by. If there is no key, one is drawn from entropy; with
  // RandomSource::kSystem there must be none. Throws UserError if there is a noise_schedule: then
  // use scaled_privatizer, whose noise is for sums divided by noise_factor(step) and whose results
  // are multiplied by it. (Sums of whole steps, which clip_options(step) clips, are not divided.)
  optim::Transformation<internal::Privatizer> privatizer(
      const std::optional<random::Key>& key = std::nullopt) const;
  optim::Transformation<internal::Privatizer> scaled_privatizer(
      const std::optional<random::Key>& key = std::nullopt) const;
  RandomSource random_source() const { return options_.random_source; }
  // Returns the mechanism that was named or chosen; the grid of DiscreteGaussian is always set.
  const Mechanism& mechanism() const { return *options_.mechanism; }
  // Returns a key as privatizer() accepts it: none for RandomSource::kSystem.
  std::optional<random::Key> noise_key(const random::Key& key) const;
  // Throws a UserError that names `op` for RandomSource::kSystem, with which a run can have no key
  // of the user's.
  void expect_keyed(std::string_view op) const;

  // Throws UserError unless the accounting is for batches of this sampler.
  void check_sampler(const batch_selection::SamplingDescription& description) const;

  // Returns a plan of the same shape for a run that is NOT private: the same batches, no clipping,
  // no noise, an infinite epsilon. It shows what privacy costs in accuracy. Its to_string() begins
  // with "NOT PRIVATE", and none of its states can continue under this plan.
  Plan without_privacy() const;
  bool is_private() const { return is_private_; }

  // Returns 64 hexadecimal digits that depend on all that the guarantee depends on, and on `rest`:
  // equal plans have equal ones.
  std::string fingerprint(const std::string& rest = {}) const;

 private:
  void resolve_strategy();
  void expect_mechanism() const;
  // Sets the grid of DiscreteGaussian, if the options name none, for noise of this multiplier.
  void choose_grid(double noise_multiplier);
  void expect_grid() const;
  // Returns the noise of a multiplier in steps of the grid. Absent without DiscreteGaussian.
  std::optional<double> grid_steps(double noise_multiplier) const;
  // Returns the parameter of the discrete Gaussian that is drawn for it; banded noise is drawn on a
  // finer lattice (noise/discrete_banded.h).
  std::optional<double> drawn_steps(double noise_multiplier) const;
  bool is_banded() const { return std::holds_alternative<BandedNoise>(options_.strategy); }
  // accounted_multiplier returns the multiplier of the Gaussian mechanism that covers the plan's,
  // covered_multiplier the least multiplier of the plan that a Gaussian mechanism covers.
  double accounted_multiplier(double noise_multiplier) const;
  double covered_multiplier(double accounted_multiplier) const;
  void resolve_clip_norm();
  // Sets the noise multiplier to the least that a Gaussian mechanism with this one covers.
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
  // The strategy: its first column if it is Toeplitz (for BufferedNoise, for all steps), otherwise
  // the whole matrix.
  matrix_factorization::toeplitz::Coefs toeplitz_;
  std::optional<matrix_factorization::Matrix> dense_;
  matrix_factorization::StreamingMatrix noising_matrix_;
  bool normalized_by_batch_ = false;
  accounting::PrivacyAccountant accountant_;  // of nothing; copies share the grids of a step
  double sensitivity_ = 0;                    // of the strategy
  double epsilon_ = 0;                        // of all steps
  // The guarantee of all steps, if the noise was calibrated by samples.
  std::optional<accounting::MonteCarloEpsilon> proven_;
  double count_scale_ = 0;  // in units of clipped_norm(); 0 means that there is no count
  bool is_private_ = true;
};

// Returns one line for people: "3.00-DP ..., 1000 steps of poisson samples, ...".
std::string to_string(const Plan& plan);

// Returns a checked plan. Throws UserError (kValue) for: DiscreteGaussian, named or not, with
// options that it does not support, or whose noise is below 8 or above 2^24 steps of the grid;
// RandomSource::kSystem with DenseNoise; numbers outside their range (also NaN and an infinite clip
// norm); neither or both of expected_batch_size and sampling_prob, of epsilon and noise_multiplier,
// of a sampler and the numbers of another one; a sampler that does not fit the neighbouring
// relation, or that no accountant supports, with the schedules or for users; too few samples for
// delta; more bands than the cycle has steps; a strategy with fewer rows than there are steps, or
// that is not lower-triangular with a diagonal without 0; an epsilon that no noise reaches.
Plan make_plan(const PlanOptions& options);

}  // namespace tessera::privacy
