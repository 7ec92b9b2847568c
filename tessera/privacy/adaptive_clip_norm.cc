#include "tessera/privacy/adaptive_clip_norm.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/format.h"

namespace tessera::privacy::internal {
namespace {

constexpr double kLargestFactor = 1e6;

}  // namespace

void expect_adaptive(const char* op, const AdaptiveClipNorm& a) {
  if (!(a.target_quantile > 0 && a.target_quantile < 1))
    value_error(op, "expected a target_quantile of adaptive_clip_norm in (0, 1), got {}",
                a.target_quantile);
  if (!(a.learning_rate > 0 && std::isfinite(a.learning_rate)))
    value_error(op, "expected a finite learning_rate of adaptive_clip_norm above 0, got {}",
                a.learning_rate);
  if (a.count_stddev && !(*a.count_stddev > 0 && std::isfinite(*a.count_stddev)))
    value_error(op, "expected a finite count_stddev of adaptive_clip_norm above 0, got {}",
                *a.count_stddev);
}

double count_scale(const char* op, const AdaptiveClipNorm& a, double noise,
                   double expected_batch_size) {
  if (noise == 0) return 1;
  const double least = noise / 2;
  const double stddev = a.count_stddev.value_or(std::max(expected_batch_size / 20, 2 * least));
  if (!(stddev > least))
    value_error(op,
                "expected a count_stddev of adaptive_clip_norm above {}, half of the noise that "
                "gradients and count share, got {}; give a larger one, or leave it out",
                least, stddev);
  return noise / std::sqrt(stddev * stddev - least * least);
}

AdaptiveClip clip_factor_of(const AdaptiveClipNorm& a, double expected_batch_size) {
  return AdaptiveClip({.initial_norm = 1,
                       .target_quantile = a.target_quantile,
                       .learning_rate = a.learning_rate,
                       .count_stddev = a.count_stddev.value_or(expected_batch_size / 20),
                       .expected_batch_size = expected_batch_size,
                       .min_norm = 1 / kLargestFactor,
                       .max_norm = kLargestFactor});
}

}  // namespace tessera::privacy::internal
