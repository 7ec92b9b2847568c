// The guarantee of a training run from the numbers that users set (jax_privacy.accounting):
//
//   const DpParams params{.noise_multipliers = 1.0, .num_samples = 60'000, .delta = 1e-5,
//                         .batch_size = 600};
//   DpsgdTrainingAccountant{}.compute_epsilon(1000, params);
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/privacy/accounting/accountant.h"

namespace tessera::privacy::accounting {

enum class SamplingMethod : uint8_t {
  // Each example is in the batch with probability batch_size / num_samples. It supports
  // add-or-remove and zero-out.
  kPoisson,
  // The batch is a random subset of this size. PLD supports every relation, RDP replace-one and
  // zero-out (kReplaceSpecial). Users of several examples are not supported.
  kFixedBatchSize,
};

// One value for all steps, or several values, each from a given step on.
template <class T>
class Schedule {
 public:
  Schedule(T value) : changes_{{0, value}} {}  // NOLINT(google-explicit-constructor)
  Schedule(std::initializer_list<std::pair<int64_t, T>> changes) : changes_(changes) {}
  explicit Schedule(std::vector<std::pair<int64_t, T>> changes) : changes_(std::move(changes)) {}

  const std::vector<std::pair<int64_t, T>>& changes() const { return changes_; }
  bool is_constant() const { return changes_.size() == 1; }
  bool operator==(const Schedule&) const = default;

 private:
  std::vector<std::pair<int64_t, T>> changes_;
};

// At each of these steps the batch size is multiplied by the factor, as by optax's
// piecewise_constant_schedule: 16 with {{100, 4}, {200, 2}} is 64 from step 100 on and 128 from 200
// on.
using BatchingScaleSchedule = std::map<int64_t, double>;

struct DpParams {
  std::optional<Schedule<double>> noise_multipliers =
      std::nullopt;  // of a sum, in units of the clip norm
  int64_t num_samples = 0;
  double delta = 0;
  Schedule<int64_t> batch_size = int64_t{0};
  BatchingScaleSchedule batch_size_scale_schedule = {};
  bool is_finite_guarantee = true;  // false, for example, if the clip norm is infinite
  std::optional<int64_t> examples_per_user = std::nullopt;
  std::optional<int64_t> cycle_length =
      std::nullopt;  // of cyclic Poisson sampling; at least the number of bands
  SamplingMethod sampling_method = SamplingMethod::kPoisson;
  std::optional<int64_t> truncated_batch_size =
      std::nullopt;  // Poisson samples are truncated to this size

  // Returns the batch size multiplied by its factors.
  Schedule<int64_t> batch_sizes() const;
  bool operator==(const DpParams&) const = default;
};

// DP-SGD, and banded matrix factorisation with cyclic Poisson sampling (Choquette-Choo et al.
// 2023), which leaves out num_samples mod cycle_length of the examples.
struct DpsgdTrainingAccountant {
  DpAccountantConfig config = PldAccountantConfig{};
  DpEvent event(int64_t num_updates, const DpParams& params) const;
  double compute_epsilon(int64_t num_updates, const DpParams& params) const;
};
// DP-SGD for users with several examples each (Charles et al. 2024). Only PLD supports it.
struct DpsgdTrainingUserLevelAccountant {
  DpAccountantConfig config = PldAccountantConfig{};
  DpEvent event(int64_t num_updates, const DpParams& params) const;
  double compute_epsilon(int64_t num_updates, const DpParams& params) const;
};
// Matrix factorisation without amplification: the whole run is one Gaussian mechanism (Denisov et
// al. 2022), or one for each noise multiplier of the schedule.
struct SingleReleaseTrainingAccountant {
  DpAccountantConfig config = PldAccountantConfig{};
  DpEvent event(int64_t num_updates, const DpParams& params) const;
  double compute_epsilon(int64_t num_updates, const DpParams& params) const;
};

// An accountant of any of these kinds.
class DpTrainingAccountant {
 public:
  DpTrainingAccountant(DpsgdTrainingAccountant a) : accountant_(std::move(a)) {}           // NOLINT
  DpTrainingAccountant(DpsgdTrainingUserLevelAccountant a) : accountant_(std::move(a)) {}  // NOLINT
  DpTrainingAccountant(SingleReleaseTrainingAccountant a) : accountant_(std::move(a)) {}   // NOLINT

  // Returns the event of a run of num_updates updates.
  DpEvent event(int64_t num_updates, const DpParams& params) const;
  // Returns the epsilon of such a run at params.delta: infinite if is_finite_guarantee is false, 0
  // for no updates.
  double compute_epsilon(int64_t num_updates, const DpParams& params) const;

  bool can_calibrate_steps() const { return !is_single_release(); }
  bool can_calibrate_batch_size() const { return !is_single_release(); }
  bool can_calibrate_noise_multipliers() const { return !is_single_release(); }

 private:
  bool is_single_release() const {
    return std::holds_alternative<SingleReleaseTrainingAccountant>(accountant_);
  }
  std::variant<DpsgdTrainingAccountant, DpsgdTrainingUserLevelAccountant,
               SingleReleaseTrainingAccountant>
      accountant_;
};

// Computes epsilon beforehand at num_cached_points numbers of updates. An approximate query returns
// the epsilon of the next of these, which is no less. Other parameters recompute the points.
class CachedExperimentAccountant {
 public:
  CachedExperimentAccountant(DpTrainingAccountant training_accountant, int64_t max_num_updates,
                             int64_t num_cached_points = 100);
  double compute_epsilon(int64_t num_updates, const DpParams& params,
                         bool allow_approximate_cache = false);

 private:
  double cached(int64_t num_updates, const DpParams& params);

  DpTrainingAccountant accountant_;
  int64_t max_num_updates_;
  int64_t num_cached_points_;
  std::optional<DpParams> params_;  // the parameters for which values_ were computed
  std::vector<double> values_;      // NaN if not computed yet
};

}  // namespace tessera::privacy::accounting
