#include "tessera/privacy/adaptive_clip_norm.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

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

Array centred_count(const Array& norms, const Array& padding, const Array& clip_norm) {
  const Array each = where(norms <= clip_norm, Array(0.5), Array(-0.5));
  return sum(where(padding, zeros({}, float32), astype(each, float32)));
}

Array next_clip_factor(const AdaptiveClipNorm& a, const Array& factor, const Array& count,
                       const Array& expected_batch_size) {
  const Array share = count / expected_batch_size + 0.5;
  const Array next = factor * exp(-a.learning_rate * (share - a.target_quantile));
  return minimum(maximum(next, 1 / kLargestFactor), kLargestFactor);
}

}  // namespace tessera::privacy::internal
