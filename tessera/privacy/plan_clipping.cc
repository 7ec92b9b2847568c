// The clip norms of a plan, and the plan without privacy.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/privacy/plan.h"
#include "tessera/privacy/plan_grid.h"
#include "tessera/privacy/plan_rounds.h"

namespace tessera::privacy {
namespace {

constexpr const char* kPlanClippingOp = "privacy::make_plan";

// Returns ClipOptions::float32_examples for the plan's batches. A batch of more examples is summed
// in float64, so the number affects only the speed.
int64_t float32_examples(const batch_selection::SamplingDescription& sampling) {
  const double most = std::min(internal::likely_batch(sampling), 1e9);
  return std::clamp(static_cast<int64_t>(most), int64_t{1}, kFloat32Examples);
}

}  // namespace

void Plan::resolve_clip_norm() {
  internal::expect_factors("clip_norm_schedule", options_.clip_norm_schedule);
  const auto& adaptive = options_.adaptive_clip_norm;
  if (adaptive && std::holds_alternative<DiscreteGaussian>(mechanism()))
    value_error(kPlanClippingOp,
                "expected no adaptive_clip_norm for {}, as its grid is of one clip norm; leave it "
                "out, or take {}",
                internal::kDefaultMechanism, internal::kNameGaussian);
  if (!adaptive) return;
  internal::expect_adaptive(kPlanClippingOp, *adaptive);
  if (!(expected_batch_size() > 0))
    value_error(kPlanClippingOp,
                "expected an expected batch size above 0 for an adaptive_clip_norm, by which its "
                "count is divided, got {}; say a larger sampling_prob",
                expected_batch_size());
  if (!options_.subtree_norms.empty() || has_clip_norm_schedule())
    value_error(kPlanClippingOp,
                "expected an adaptive_clip_norm without {}, got both; an adaptive clip norm is one "
                "number that no schedule changes: leave one of them out",
                has_clip_norm_schedule() ? "clip_norm_schedule" : "subtree_norms");
  count_scale_ = internal::count_scale(kPlanClippingOp, *adaptive,
                                       noise_multiplier() * sensitivity_, expected_batch_size());
}

ClipOptions Plan::clip_options() const {
  ClipOptions out{.l2_clip_norm = options_.l2_clip_norm,
                  .subtree_norms = options_.subtree_norms,
                  .rescale_to_unit_norm = options_.rescale_to_unit_norm,
                  .normalize_by = *options_.normalize_by,
                  .nan_safe = options_.nan_safe,
                  .float32_examples = float32_examples(sampling_)};
  if (const auto* grid = std::get_if<DiscreteGaussian>(&mechanism())) {
    out.grid_scale = grid->grid_scale;
    out.normalize_by = 1;  // the privatizer divides
  }
  return out;
}

ClipOptions Plan::clip_options(int64_t step) const {
  if (step < 0 || step >= steps())
    value_error("privacy::Plan::clip_options",
                "expected a step in [0, {}), those of the plan, got {}", steps(), step);
  ClipOptions out = clip_options();
  const double factor = clip_norm_factor(step);
  if (out.grid_scale) {
    // If the noise of a step is f times as large, its grid is f times as coarse, and the noise has
    // the same number of steps.
    const auto scalar = [](double value) { return full(Shape{}, value, float32); };
    double least = 1 / noise_factor(0), most = least;
    for (const auto& [at, noise] : options_.noise_schedule.changes())
      least = std::min(least, 1 / noise), most = std::max(most, 1 / noise);
    if (has_noise_schedule() || has_clip_norm_schedule())
      out.grid_factors = {scalar(factor), scalar(1 / noise_factor(step)), least, most};
    return out;
  }
  out.l2_clip_norm = out.l2_clip_norm.number() * factor;
  for (SubtreeNorm& subtree : out.subtree_norms)
    subtree.l2_clip_norm = subtree.l2_clip_norm.number() * factor;
  return out;
}

double Plan::clipped_norm() const {
  // Sums of whole steps are exact, so the sensitivity is that of the clip norms.
  if (std::holds_alternative<DiscreteGaussian>(mechanism())) {
    double norm = options_.l2_clip_norm;
    for (const SubtreeNorm& subtree : options_.subtree_norms)
      norm = std::hypot(norm, subtree.l2_clip_norm.number());
    return norm / *options_.normalize_by;
  }
  return privacy::sensitivity(clip_options(), NeighboringRelation::kAddOrRemoveOne);
}

double Plan::sensitivity() const {
  return clipped_norm() * std::sqrt(1 + count_scale_ * count_scale_ / 4) * sensitivity_;
}

double Plan::clip_norm_factor(int64_t step) const {
  return internal::factor_at(options_.clip_norm_schedule, step);
}

Plan Plan::without_privacy() const {
  Plan out = *this;
  out.is_private_ = false;
  out.options_.epsilon.reset();
  out.options_.noise_multiplier = 0;
  out.options_.mechanism = Gaussian{};
  out.options_.random_source = RandomSource::kKey;
  out.options_.l2_clip_norm = std::numeric_limits<double>::infinity();
  out.options_.subtree_norms.clear();
  out.options_.rescale_to_unit_norm = false;
  out.options_.noise_schedule = 1.0;
  out.options_.clip_norm_schedule = 1.0;
  out.options_.adaptive_clip_norm.reset();
  out.count_scale_ = 0;
  out.epsilon_ = std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace tessera::privacy
