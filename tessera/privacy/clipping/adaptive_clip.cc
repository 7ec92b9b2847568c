#include "tessera/privacy/clipping/adaptive_clip.h"

#include <cmath>

#include "tessera/base/format.h"
#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::privacy {
namespace {

constexpr const char* kAdaptiveClipOp = "privacy::AdaptiveClip";
// The largest number of halves that float32 counts exactly.
constexpr int64_t kMostExamples = int64_t{1} << 24;

void expect_multiplier(const char* op, const char* what, double value) {
  if (!(value >= 0 && std::isfinite(value)))
    value_error(op, "expected a finite {} of at least 0, got {}", what, value);
}

void expect_count_stddev(const char* op, double value) {
  if (!(value > 0 && std::isfinite(value)))
    value_error(op,
                "expected a finite count_stddev above 0, got {}; a twentieth of the expected batch "
                "size leaves the sum almost all",
                value);
}

void expect_scalar(const char* what, const Array& x) {
  if (x.ndim() != 0 || !is_floating(x.dtype()))
    shape_error(kAdaptiveClipOp, "expected {} that is a floating-point scalar, got {}", what,
                describe(x.type()));
}

// The parameters on which the update's program depends.
struct UpdateParams {
  double target_quantile, learning_rate, expected_batch_size, min_norm, max_norm;
};

}  // namespace

double sum_noise_multiplier(double noise_multiplier, double count_stddev) {
  constexpr const char* op = "privacy::sum_noise_multiplier";
  expect_multiplier(op, "noise_multiplier", noise_multiplier);
  expect_count_stddev(op, count_stddev);
  if (noise_multiplier == 0) return 0;
  // The count takes the share part * part of the budget.
  const double part = noise_multiplier / (2 * count_stddev);
  if (part >= 1)
    value_error(op,
                "expected a count_stddev above {}, half of the noise_multiplier, got {}; the count "
                "alone would spend all",
                noise_multiplier / 2, count_stddev);
  return noise_multiplier / std::sqrt((1 - part) * (1 + part));
}

double joint_noise_multiplier(double sum_noise_multiplier, double count_stddev) {
  constexpr const char* op = "privacy::joint_noise_multiplier";
  expect_multiplier(op, "sum_noise_multiplier", sum_noise_multiplier);
  expect_count_stddev(op, count_stddev);
  return sum_noise_multiplier / std::hypot(1, sum_noise_multiplier / (2 * count_stddev));
}

AdaptiveClip::AdaptiveClip(const AdaptiveClipOptions& options) : options_(options) {
  const auto positive = [](const char* what, double value) {
    if (!(value > 0 && std::isfinite(value)))
      value_error(kAdaptiveClipOp, "expected a finite {} above 0, got {}", what, value);
  };
  positive("initial_norm", options.initial_norm);
  positive("learning_rate", options.learning_rate);
  positive("expected_batch_size", options.expected_batch_size);
  expect_count_stddev(kAdaptiveClipOp, options.count_stddev);
  if (!(options.target_quantile >= 0 && options.target_quantile <= 1))
    value_error(kAdaptiveClipOp, "expected a target_quantile in [0, 1], got {}",
                options.target_quantile);
  if (!(options.min_norm >= 0 && options.min_norm <= options.initial_norm &&
        options.initial_norm <= options.max_norm))
    value_error(kAdaptiveClipOp,
                "expected 0 <= min_norm <= initial_norm <= max_norm, got {}, {} and {}",
                options.min_norm, options.initial_norm, options.max_norm);
}

Array AdaptiveClip::init() const { return full(Shape{}, options_.initial_norm, float32); }

Array AdaptiveClip::centered_count(const Array& norms, const Array& l2_clip_norm,
                                   const std::optional<Array>& padding) const {
  if (norms.ndim() != 1 || !is_floating(norms.dtype()) || norms.size() > kMostExamples)
    shape_error(kAdaptiveClipOp,
                "expected norms of one floating-point dimension of at most 2^24 examples, got {}; "
                "they are grad_norms of clipped_value_and_grad",
                describe(norms.type()));
  expect_scalar("an l2_clip_norm", l2_clip_norm);
  if (padding && (padding->shape() != norms.shape() || padding->dtype() != bool_))
    shape_error(kAdaptiveClipOp,
                "expected a padding mask of the norms' shape and bool, got {} with norms {}",
                describe(padding->type()), describe(norms.type()));
  std::vector<Array> args{norms, l2_clip_norm};
  if (padding) args.push_back(*padding);
  return composite("privacy_centered_count", {}, std::span<const Array>(args),
                   [](const NoParams&, std::span<const Array> a) {
                     const Array sign = where(a[0] <= a[1], Array(1), Array(-1));
                     const Array counted = a.size() > 2 ? where(a[2], Array(0), sign) : sign;
                     return astype(sum(astype(counted, int32)), float32) * 0.5f;
                   });
}

Array AdaptiveClip::update(const Array& l2_clip_norm, const Array& noisy_count) const {
  expect_scalar("an l2_clip_norm", l2_clip_norm);
  expect_scalar("a noisy_count", noisy_count);
  const AdaptiveClipOptions& o = options_;
  const UpdateParams params{o.target_quantile, o.learning_rate, o.expected_batch_size, o.min_norm,
                            o.max_norm};
  return composite("privacy_adaptive_clip", params, {l2_clip_norm, noisy_count},
                   [](const UpdateParams& p, std::span<const Array> a) {
                     const Array above = a[1] / p.expected_batch_size + 0.5 - p.target_quantile;
                     const Array next = a[0] * exp(-p.learning_rate * above);
                     return astype(clip(next, p.min_norm, p.max_norm), a[0].dtype());
                   });
}

}  // namespace tessera::privacy
