// A clip norm that follows a quantile of the norms of the gradients (Andrew, Thakkar, McMahan and
// Ramaswamy, "Differentially private learning with adaptive clipping", arXiv:1905.03871, Algorithm
// 1), as an option of a plan: clipping/adaptive_clip.h with the noise of the plan. plan.h reads the
// option, and trainer_program.h runs it.
//
// Each step also computes a count: the number of examples whose norm is at most the clip norm,
// minus half of all examples. The count is released with the sum, as one more coordinate of it. An
// example contributes its gradient divided by the clip norm, of norm at most 1, and s / 2 or -s /
// 2, so its vector has a norm of at most sqrt(1 + s^2 / 4). That is the plan's sensitivity, and
// everything else (samplers, strategies of noise, accountants) is as without the count. With
// independent noise this is how the paper splits a noise multiplier z: the noise of the count has
// the standard deviation count_stddev, and the noise multiplier of the gradients is (z^-2
// - (2 count_stddev)^-2)^(-1/2).
//
// For example: z = 1 and count_stddev = 10 (of a mean batch of 200) give s = 0.1001 and a noise
// multiplier of the gradients of 1.00125.
#pragma once

#include <optional>

#include "tessera/privacy/clipping/adaptive_clip.h"

namespace tessera::privacy {

struct AdaptiveClipNorm {
  // The share of examples that should not be clipped, in (0, 1).
  double target_quantile = 0.5;
  // By how much the logarithm of the clip norm moves if the share is wrong by 1; above 0.
  double learning_rate = 0.2;
  // The standard deviation of the noise of the count, in examples, before it is mixed over steps.
  // It must be above half of the noise of the plan, noise_multiplier() times the sensitivity of the
  // strategy of its noise. If absent, it is a twentieth of the expected batch size, as in the
  // paper, or twice that least value if this is more.
  std::optional<double> count_stddev = std::nullopt;
};

namespace internal {

// Throws a UserError that names `op` for numbers outside their range.
void expect_adaptive(const char* op, const AdaptiveClipNorm& adaptive);

// Returns the s of the text above. `noise` is the plan's noise multiplier times the sensitivity of
// its strategy. If it is 0, the count has no noise either, and s is 1. Throws a UserError that
// names `op` for a count_stddev that is too small.
double count_scale(const char* op, const AdaptiveClipNorm& adaptive, double noise,
                   double expected_batch_size);

// Returns the AdaptiveClip of the factor by which the plan's clip norm is multiplied. It begins
// with 1 and stays in [1e-6, 1e6].
AdaptiveClip clip_factor_of(const AdaptiveClipNorm& adaptive, double expected_batch_size);

}  // namespace internal
}  // namespace tessera::privacy
