#include "tessera/privacy/trainer_step.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/engine/engine.h"
#include "tessera/io/load.h"
#include "tessera/mesh/device.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/privacy/available_memory.h"
#include "tessera/privacy/batch_selection/padding.h"
#include "tessera/privacy/trainer.h"

namespace tessera::privacy {
namespace {

constexpr const char* kTrainerStepOp = "privacy::Trainer";

int64_t rounded_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

void check_at_least_one(const char* what, std::optional<int64_t> value) {
  if (value && *value < 1)
    value_error(kTrainerStepOp, "expected {} of at least 1, got {}", what, *value);
}

void check_options(const TrainerOptions& o) {
  check_at_least_one("padding_multiple", o.padding_multiple);
  check_at_least_one("microbatch_size", o.microbatch_size);
  check_at_least_one("memory_budget_bytes", o.memory_budget_bytes);
  if (int{o.microbatch_size.has_value()} + int{o.memory_budget_bytes.has_value()} +
          int{o.automatic_microbatch_size} >
      1)
    value_error(kTrainerStepOp,
                "expected one of microbatch_size, memory_budget_bytes and "
                "automatic_microbatch_size, got more; a budget chooses the size");
  if (o.microbatch_size && o.padding_multiple && *o.padding_multiple % *o.microbatch_size != 0)
    value_error(kTrainerStepOp,
                "expected a padding_multiple that microbatch_size ({}) divides, got {}",
                *o.microbatch_size, *o.padding_multiple);
}

// Returns the smallest and the largest expected size of the plan's batches.
std::pair<double, double> expected_sizes(const Plan& plan) {
  double least = plan.expected_batch_size(), most = least;
  for (const auto& [step, probability] : plan.sampling().sampling_prob_changes) {
    const double size =
        batch_selection::expected_batch_size(batch_selection::at_step(plan.sampling(), step));
    least = std::min(least, size), most = std::max(most, size);
  }
  return {least, most};
}

// Returns the multiple to which batches are padded. Batches of a fixed size need only one program.
// With a memory budget the result is a power of two, which has many divisors.
int64_t multiple_of(const Plan& plan, const TrainerOptions& o) {
  if (o.padding_multiple) return *o.padding_multiple;
  const double mean = expected_sizes(plan).second;
  const auto method = plan.sampling().method;
  const bool fixed = method == batch_selection::SamplingMethod::kFixedBatchSize ||
                     method == batch_selection::SamplingMethod::kMultiOwnerMinSep;
  const double wanted = std::ceil(fixed ? mean : 2 * std::sqrt(mean));
  int64_t multiple = static_cast<int64_t>(std::clamp(wanted, 1.0, 1e9));
  if (o.memory_budget_bytes || o.automatic_microbatch_size)
    for (int64_t power = 1;; power *= 2)
      if (power >= multiple) {
        multiple = power;
        break;
      }
  return rounded_up(multiple, o.microbatch_size.value_or(1));
}

// Returns the words of a key, on the host.
std::vector<uint32_t> words(const random::Key& key) { return to_vector<uint32_t>(key.data); }

}  // namespace

namespace internal {

int64_t history_stride(int64_t steps) { return (steps + kHistoryRows - 1) / kHistoryRows; }

StepBatches::StepBatches(const Plan& plan, const TrainerOptions& options)
    : sampler_(plan.sampler()), options_(options) {
  check_options(options_);
  if (plan.random_source() == RandomSource::kSystem) system_.emplace(sampler_);
  if (plan.sampling().num_examples > std::numeric_limits<int32_t>::max())
    value_error(kTrainerStepOp, "expected fewer than 2^31 examples, got {}; split the data",
                plan.sampling().num_examples);
  multiple_ = multiple_of(plan, options_);
  const auto mean = static_cast<int64_t>(expected_sizes(plan).first);
  // The program of a single example on a device has other rounding errors (docs/privacy_proof.md).
  // So each device gets at least two examples unless the batch size is fixed.
  const int64_t two_each = rounded_up(2 * device_count(), multiple_);
  least_ = std::max({multiple_, mean / multiple_ * multiple_,
                     plan.sampling().method == batch_selection::SamplingMethod::kFixedBatchSize
                         ? int64_t{0}
                         : two_each});
}

random::Key StepBatches::begin(const random::Key& key) { return system_ ? system_->begin() : key; }

void StepBatches::expect_known(const random::Key& key) const {
  if (system_) system_->expect_known(key);
}

void StepBatches::end(const random::Key& key) {
  if (system_) system_->end(key);
}

batch_selection::Batch StepBatches::examples(const random::Key& key, int64_t step) {
  if (system_) return system_->examples(key, step);
  std::vector<uint32_t> now = words(key);
  if (!batches_ || now != key_) {
    batches_.emplace(batch_selection::batches(sampler_, key));
    key_ = std::move(now);
  }
  return batches_->at(step);
}

int64_t StepBatches::padded_size(int64_t examples) const {
  return std::max(least_, rounded_up(examples, multiple_));
}

StepBatch StepBatches::padded(const batch_selection::Batch& examples, int64_t microbatch,
                              int64_t size) const {
  std::optional<int64_t> microbatch_size;
  if (microbatch > 0) microbatch_size = microbatch;
  std::vector<int32_t> indices, places;
  std::vector<uint8_t> padding;
  const auto count = static_cast<int64_t>(examples.size());
  for (int64_t place : batch_selection::compute_early_stopping_order(size, microbatch_size)) {
    const bool is_padding = place >= count;
    padding.push_back(is_padding ? 1 : 0);
    places.push_back(static_cast<int32_t>(place));
    indices.push_back(is_padding ? static_cast<int32_t>(batch_selection::kPaddingIndex)
                                 : static_cast<int32_t>(examples[static_cast<size_t>(place)]));
  }
  return {from_host(indices, {size}), from_host(places, {size}),
          astype(from_host(padding, {size}), bool_)};
}

std::vector<int64_t> StepBatches::source_indices(const batch_selection::Batch& examples,
                                                 int64_t size) {
  std::vector<int64_t> out(examples.begin(), examples.end());
  out.resize(static_cast<size_t>(size), 0);
  return out;
}

// Unless the batch size is fixed, each example is in a batch independently of the others, so the
// size is binomial. All sizes above truncated_batch_size are counted as that.
std::vector<BatchSize> StepBatches::sizes(const Plan& plan) const {
  const batch_selection::SamplingDescription& d = plan.sampling();
  if (d.method == batch_selection::SamplingMethod::kFixedBatchSize)
    return {{padded_size(d.batch_size), 1}};
  std::map<int64_t, double> found;
  const auto add = [&](const batch_selection::SamplingDescription& at, int64_t steps) {
    batch_selection::SamplingDescription whole = at;
    whole.truncated_batch_size.reset();
    const double mean = batch_selection::expected_batch_size(whole);
    const int64_t n = d.num_examples;
    const boost::math::binomial_distribution<double> law(
        static_cast<double>(n), std::min(1.0, mean / static_cast<double>(n)));
    const int64_t most = at.truncated_batch_size.value_or(n);
    double below = 0;
    for (int64_t size = padded_size(0);; size += multiple_) {
      const double up_to =
          size >= most ? 1 : boost::math::cdf(law, static_cast<double>(std::min(size, n)));
      if (up_to - below > 1e-6)
        found[size] +=
            (up_to - below) * static_cast<double>(steps) / static_cast<double>(plan.steps());
      below = up_to;
      if (size >= most || 1 - up_to <= 1e-6) break;
    }
  };
  int64_t from = 0;
  for (const auto& [step, probability] : d.sampling_prob_changes) {
    add(batch_selection::at_step(d, from), std::min(step, plan.steps()) - from);
    from = std::min(step, plan.steps());
  }
  add(batch_selection::at_step(d, from), plan.steps() - from);
  std::vector<BatchSize> out;
  for (const auto& [size, probability] : found)
    if (probability > 0) out.push_back({size, probability});
  return out;
}

int64_t StepBatches::microbatch(int64_t size,
                                const std::function<int64_t(int64_t microbatch)>& arena_bytes) {
  const bool automatic = options_.automatic_microbatch_size;
  if (!options_.memory_budget_bytes && !automatic) return options_.microbatch_size.value_or(0);
  const auto known = microbatches_.find(size);
  if (known != microbatches_.end()) return known->second;
  const int64_t budget = automatic ? available_memory() / 2 : *options_.memory_budget_bytes;
  int64_t bytes = arena_bytes(0);
  int64_t chosen = 0;
  for (int64_t m = multiple_; bytes > budget; m /= 2) {
    if (m < size) {
      bytes = arena_bytes(m);
      chosen = m;
    }
    if (bytes > budget && m % 2 != 0)
      value_error(kTrainerStepOp,
                  "expected {} that a microbatch of {} keeps, which takes {} bytes, got {}; give "
                  "more, or take smaller batches",
                  automatic ? "memory available" : "a memory_budget_bytes", m, bytes, budget);
  }
  return microbatches_[size] = chosen;
}

bool is_scheduled(const Plan& plan) {
  return !plan.sampling().sampling_prob_changes.empty() || plan.has_noise_schedule();
}

StepFactors factors_of(const Plan& plan, int64_t step) {
  const double noise = plan.noise_factor(step);
  const double expected =
      batch_selection::expected_batch_size(batch_selection::at_step(plan.sampling(), step));
  const auto scalar = [](double value) { return full(Shape{}, value, float32); };
  return {.before = scalar(1 / noise),
          .after = scalar(noise * plan.update_factor(step)),
          .clip = scalar(plan.clip_norm_factor(step)),
          .batch_factor = scalar(expected > 0 ? plan.expected_batch_size() / expected : 1)};
}

void expect_examples(const Plan& plan, const std::vector<Array>& leaves) {
  for (const Array& leaf : leaves)
    if (leaf.ndim() == 0 || leaf.shape(0) != plan.sampling().num_examples)
      value_error(
          kTrainerStepOp,
          "expected data of {} examples, as many as the plan's sampler selects from, got "
          "an array of shape {}; give all of the data, or make a plan of .num_examples = {}",
          plan.sampling().num_examples, leaf.shape(),
          leaf.ndim() == 0 ? int64_t{1} : leaf.shape(0));
}

int64_t expect_next_step(const Plan& plan, const Array& step) {
  const auto done = step.item<int64_t>();
  if (done >= plan.steps())
    value_error(kTrainerStepOp,
                "expected at most {} steps, those of the plan, got one more; its epsilon is spent: "
                "say more .steps in PlanOptions beforehand",
                plan.steps());
  return done;
}

ClipOptions with_clip_factor(ClipOptions options, const Array& factor) {
  const auto scaled = [&](const ClipNorm& norm) {
    return ClipNorm(astype(factor, float32) * full(Shape{}, norm.number(), float32));
  };
  options.l2_clip_norm = scaled(options.l2_clip_norm);
  for (SubtreeNorm& subtree : options.subtree_norms)
    subtree.l2_clip_norm = scaled(subtree.l2_clip_norm);
  return options;
}

void expect_plan_for_transforms(const Plan& plan) {
  if (!plan.clip_options().subtree_norms.empty() || plan.adaptive_clip_norm())
    value_error(
        kTrainerStepOp,
        "expected a plan without {} for gradients that are transformed before they are "
        "clipped, got one with; leave it out of PlanOptions, or take an optimizer without a "
        "transform",
        plan.adaptive_clip_norm() ? "adaptive_clip_norm" : "subtree_norms");
}

void expect_known_memory(const TrainerOptions& options, const std::vector<Array>& leaves) {
  if (!options.automatic_microbatch_size) return;
  for (const Array& leaf : leaves)
    if (runtime::device_data(*leaf.data()) &&
        !engine::engine_of(kTrainerStepOp, leaf.sharding()).has_machine_memory())
      value_error(kTrainerStepOp,
                  "expected arrays in the machine's memory for automatic_microbatch_size, got one "
                  "on a device of a plugin; say memory_budget_bytes");
}

int64_t write_parameters(const FilePath& path, const optim::LeafList& parameters) {
  std::map<std::string, Array> named;
  for (size_t i = 0; i < parameters.leaves.size(); ++i) {
    std::string name = parameters.paths[i];
    if (name.starts_with('.')) name.erase(0, 1);
    named[name.empty() ? "params" : name] = parameters.leaves[i];
  }
  save_safetensors(path, named);
  return static_cast<int64_t>(named.size());
}

Array clear_rows(const Array& rows, const Array& padding) {
  Shape shape(static_cast<size_t>(rows.ndim()), 1);
  shape[0] = padding.shape(0);
  return where(reshape(padding, shape), zeros_like(rows), rows);
}

Array metrics(const Array& step, const Array& values, const Array& norms, const Array& padding,
              const Array& clip_norm) {
  const Array real = logical_not(padding);
  const Array finite = real & isfinite(values) & isfinite(norms);
  const auto count = [](const Array& mask) { return sum(astype(mask, float32)); };
  const Array used = count(finite);
  const auto mean = [&](const Array& x) {
    return sum(where(finite, astype(x, float32), 0)) / used;
  };
  const Array largest = where(used > 0, max(where(finite, astype(norms, float32), 0)),
                              std::numeric_limits<float>::quiet_NaN());
  return stack(std::vector<Array>{
      astype(step, float32), count(real), count(real) - used, mean(values), mean(norms), largest,
      mean(astype(norms > clip_norm, float32)), astype(clip_norm, float32)});
}

Array with_row(const Array& history, const Array& row, const Array& step, int64_t stride) {
  return dynamic_update_slice_in_dim(history, reshape(row, {1, kHistoryColumns}),
                                     floor_divide(step, static_cast<int32_t>(stride)), 0);
}

optim::LeafList noised_list(optim::LeafList parameters, bool adaptive, const Array& count) {
  if (!adaptive) return parameters;
  parameters.leaves.push_back(count);
  parameters.paths.emplace_back("(count of unclipped examples)");
  return parameters;
}

NoiseState<optim::LeafList> initial_noise(const Plan& plan, const random::Key& key,
                                          const optim::LeafList& parameters) {
  const optim::LeafList noised =
      noised_list(parameters, plan.adaptive_clip_norm().has_value(), zeros(Shape{}, float32));
  return plan.scaled_privatizer(plan.noise_key(key)).init(noised);
}

Array empty_history() {
  return full(Shape{kHistoryRows, kHistoryColumns}, std::numeric_limits<float>::quiet_NaN(),
              float32);
}

StepReport report_of(const Array& row) {
  const std::vector<float> v = to_vector<float>(row);
  return {.step = std::llround(v[0]),
          .examples = std::llround(v[1]),
          .non_finite = std::llround(v[2]),
          .loss = v[3],
          .mean_norm = v[4],
          .max_norm = v[5],
          .clipped = v[6],
          .clip_norm = v[7]};
}

StepConstants step_constants(const Plan& plan, const TrainerOptions& options) {
  const std::optional<AdaptiveClipNorm>& adaptive = plan.adaptive_clip_norm();
  StepConstants out{.clip = plan.clip_options(),
                    .history_stride = history_stride(plan.steps()),
                    .scheduled = is_scheduled(plan),
                    .clip_norm_varies = plan.has_clip_norm_schedule() || adaptive,
                    .count_scale = plan.count_scale()};
  if (out.clip.grid_scale) out.clip = plan.clip_options(0);  // has the bounds of all steps' grids
  if (adaptive) out.adaptive = clip_factor_of(*adaptive, plan.expected_batch_size());
  out.clip.keep_batch_dim = options.keep_batch_dim;
  out.clip.spmd_axis_name = options.spmd_axis_name;
  out.clip.indivisible = options.indivisible;
  out.clip.shared_captures =
      // A padded batch may be as long as a captured array by chance. run_identity.h checks
      // captures.
      true;
  return out;
}

int64_t fit_until(const Plan& plan, std::optional<int64_t> until, int64_t progress_every,
                  int64_t save_every) {
  constexpr const char* op = "privacy::Trainer::fit";
  if (until && (*until < 0 || *until > plan.steps()))
    value_error(op, "expected `until` between 0 and {} steps, those of the plan, got {}",
                plan.steps(), *until);
  if (progress_every < 1 || save_every < 1)
    value_error(op, "expected progress_every and save_every of at least 1, got {} and {}",
                progress_every, save_every);
  return until.value_or(plan.steps());
}

}  // namespace internal

std::string to_string(const StepReport& r) {
  std::string out =
      fmt::format("loss {:.4f}, norm {:.3g} (at most {:.3g}, {:.0f}% clipped), {} examples", r.loss,
                  r.mean_norm, r.max_norm, 100 * r.clipped, r.examples);
  if (r.examples == 0) out = "no examples";
  if (r.non_finite > 0) out += fmt::format(", {} of them not finite", r.non_finite);
  return out;
}

}  // namespace tessera::privacy
