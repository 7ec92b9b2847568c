// Clip norms that follow a quantile of the gradients' norms while a model is trained (Andrew,
// Thakkar, McMahan and Ramaswamy, "Differentially private learning with adaptive clipping",
// arXiv:1905.03871; Opacus's AdaClipDPOptimizer).
//
//   const privacy::AdaptiveClip clip({.count_stddev = 10, .expected_batch_size = 256});
//   Array norm = clip.init();                                   // the clip norm of step 0
//   const double z = clip.gradient_noise_multiplier(1.0);       // together with the count: 1
//   for (...) {
//     // l2_clip_norm = norm, rescale_to_unit_norm = true: one sensitivity at every norm.
//     const auto clipped = privacy::clipped_value_and_grad(loss, options);
//     auto out = clipped(params, x, y);
//     ... noise of stddev z * clipped.sensitivity() on out.grads; norm times that is private
//     const Array count = clip.centered_count(out.grad_norms, norm);
//     norm = clip.update(norm, count + noise of stddev count_stddev);
//   }
//
// A step releases the clipped sum and a count: the number of examples whose norm is at most the
// clip norm, minus half of all examples. An example adds 1/2 or -1/2 to the count, so that adding
// or removing one moves it by 1/2 (and replacing one moves it by 1, twice as much, as for the sum).
// Sum and count together are one Gaussian mechanism on the same batch, whose noise multiplier z
// satisfies
//   1 / z^2 = 1 / z_sum^2 + 1 / (2 count_stddev)^2                      (their Theorem 1).
// A plan and its accountant are given z. The noise of the sum is z_sum times its sensitivity, where
// z_sum is a little above z. The next clip norm is computed from released values, so it is public
// too.
//
// One privatizer of stddev s can add the noise of both. Then the count is one more leaf, which is
// multiplied by s / count_stddev before the noise and divided by it afterwards.
#pragma once

#include <limits>
#include <optional>

#include "tessera/ir/array.h"

namespace tessera::privacy {

// Returns the noise multiplier of the sum (z_sum above) with which the sum and the centered count
// together have the multiplier `noise_multiplier`. Returns 0 for 0 (no noise). Throws UserError
// (kValue) for a multiplier that is negative or not finite, and for a count_stddev of at most
// noise_multiplier / 2, with which the count alone spends the whole budget.
double sum_noise_multiplier(double noise_multiplier, double count_stddev);
// Returns the noise multiplier of both together (z above). It is the inverse of
// sum_noise_multiplier.
double joint_noise_multiplier(double sum_noise_multiplier, double count_stddev);

struct AdaptiveClipOptions {
  double initial_norm = 0.1;     // above 0
  double target_quantile = 0.5;  // the fraction of examples that are not clipped: in [0, 1]
  double learning_rate = 0.2;    // of the logarithm of the norm; above 0
  // The standard deviation of the noise of the centered count. A twentieth of the batch size leaves
  // almost the whole budget to the sum.
  double count_stddev = 0;
  // The divisor of counts: a public number, which the true size of a random batch is not.
  double expected_batch_size = 0;
  // The norm stays between these two.
  double min_norm = 0, max_norm = std::numeric_limits<double>::infinity();
};

class AdaptiveClip {
 public:
  // Throws UserError (kValue) for options outside their range: for NaN or infinite numbers
  // (max_norm may be infinite), a count_stddev below 0, an expected_batch_size or initial_norm not
  // above 0, and an initial_norm outside [min_norm, max_norm].
  explicit AdaptiveClip(const AdaptiveClipOptions& options);

  const AdaptiveClipOptions& options() const { return options_; }

  // Returns the first clip norm, a float32 scalar. The clip norm is the state of the algorithm, and
  // can be used as a ClipNorm.
  Array init() const;

  // Returns the number of examples whose norm is at most the clip norm, minus half of all examples,
  // as an exact float32 scalar. `norms` [batch] are the norms of the gradients that are clipped;
  // NaN counts as above the clip norm. Examples of the mask `padding` [batch] do not count. The
  // contribution of an example depends on its own norm alone. Throws UserError (kShape) unless the
  // norms are one floating-point dimension of at most 2^24 examples, the clip norm is a scalar, and
  // the mask has the norms' shape and dtype bool.
  Array centered_count(const Array& norms, const Array& l2_clip_norm,
                       const std::optional<Array>& padding = std::nullopt) const;

  // Returns the next clip norm, C exp(-learning_rate (b - target_quantile)), where b = 1/2 +
  // noisy_count / expected_batch_size is the fraction of examples that were not clipped. Throws
  // UserError (kShape) for arguments that are not floating-point scalars.
  Array update(const Array& l2_clip_norm, const Array& noisy_count) const;

  // Returns sum_noise_multiplier() at this count_stddev.
  double gradient_noise_multiplier(double noise_multiplier) const {
    return sum_noise_multiplier(noise_multiplier, options_.count_stddev);
  }

 private:
  AdaptiveClipOptions options_;
};

}  // namespace tessera::privacy
