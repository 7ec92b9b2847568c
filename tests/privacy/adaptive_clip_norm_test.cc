// An adaptive clip norm: the noise is split as in the paper, and the norm finds its quantile.
#include "tessera/privacy/adaptive_clip_norm.h"

#include <algorithm>
#include <cmath>

#include "tessera/numpy/manipulation.h"
#include "trainer_problem.h"

namespace tessera::privacy::adaptive_clip_norm_test {
namespace {

using namespace trainer_problem;
using tessera::test::expect_error;

PlanOptions adaptive_options(double noise_multiplier = 1) {
  PlanOptions options = options_of(.5);
  options.noise_multiplier = noise_multiplier;
  options.adaptive_clip_norm = AdaptiveClipNorm{.count_stddev = 3};
  return options;
}

// Andrew et al., Theorem 1: 1 / z^2 = 1 / z_gradients^2 + 1 / (2 count_stddev)^2.
TEST(AdaptiveClipNormTest, SplitsTheNoiseAsThePaper) {
  for (double z : {.5, 1., 4.}) {
    const Plan plan = make_plan(adaptive_options(z));
    const double count_stddev = plan.stddev() / plan.count_scale();
    const double gradients = plan.stddev() / plan.clipped_norm();
    EXPECT_NEAR(count_stddev, 3, 1e-12);
    EXPECT_NEAR(1 / (z * z), 1 / (gradients * gradients) + 1 / (4 * 3. * 3.), 1e-12);
    // The sensitivity is the length of an example's vector.
    EXPECT_NEAR(std::hypot(plan.clipped_norm(), plan.count_scale() / 2), plan.sensitivity(), 1e-12);
    EXPECT_EQ(plan.noise_multiplier(), z);
  }
  // The guarantee is that of a plan with this noise multiplier and a fixed clip norm.
  PlanOptions plain = adaptive_options();
  plain.adaptive_clip_norm.reset();
  EXPECT_EQ(make_plan(adaptive_options()).epsilon(), make_plan(plain).epsilon());
  EXPECT_NE(make_plan(adaptive_options()).fingerprint(), make_plan(plain).fingerprint());
}

TEST(AdaptiveClipNormTest, TheDefaultCountIsATwentieth) {
  PlanOptions options = adaptive_options(.5);
  options.adaptive_clip_norm = AdaptiveClipNorm{};  // batches of 32
  const Plan plan = make_plan(options);
  EXPECT_NEAR(plan.stddev() / plan.count_scale(), 1.6, 1e-12);
  options.noise_multiplier = 10;  // it must not be below 10 / 2
  const Plan noisy = make_plan(options);
  EXPECT_NEAR(noisy.stddev() / noisy.count_scale(), 10, 1e-12);
}

TEST(AdaptiveClipNormTest, TheFactorStaysInRange) {
  const AdaptiveClip half = internal::clip_factor_of({.learning_rate = .2}, 10);
  const auto next = [&](float factor, float count) {
    return half.update(Array(factor), Array(count)).item<float>();
  };
  EXPECT_EQ(half.init().item<float>(), 1);
  EXPECT_NEAR(next(1, 5), std::exp(-.1), 1e-6);
  EXPECT_FLOAT_EQ(next(1, 1e9f), 1e-6f);
  EXPECT_FLOAT_EQ(next(1, -1e9f), 1e6f);
}

// A clip norm that is a hundred times too large or too small becomes the median of the norms. The
// losses are linear, so that an example has the same gradient in each step.
TEST(AdaptiveClipNormTest, FindsTheQuantile) {
  constexpr int64_t n = 400;
  const auto linear = [](const Array& w, const Array& x) { return sum(w * x); };
  const Array lengths = arange(1, n + 1) / static_cast<float>(n);
  const Array x = reshape(lengths, {n, 1}) * array({.6f, .8f});
  for (double start : {50., .005})
    for (double quantile : {.5, .8}) {
      const Trainer trainer(
          make_plan({.num_examples = n,
                     .steps = 150,
                     .sampling_prob = .5,
                     .noise_multiplier = 1,
                     .delta = 1e-3,
                     .mechanism = Gaussian{},
                     .l2_clip_norm = start,
                     .adaptive_clip_norm = AdaptiveClipNorm{.target_quantile = quantile}}),
          linear, optim::sgd(1e-3));
      auto state = trainer.init(zeros({2}), reproducible(random::key(4)));
      double sum = 0;
      for (int step = 0; step < 150; ++step) {
        const StepReport report = trainer.step(state, x);
        if (step == 0) {
          EXPECT_NEAR(report.clip_norm, start, 1e-6 * start);
        }
        if (step >= 120) sum += report.clip_norm / 30;
      }
      EXPECT_NEAR(sum, quantile, .06) << start;
    }
}

// The noise of the parameters follows the clip norm.
TEST(AdaptiveClipNormTest, NoiseFollowsTheClipNorm) {
  PlanOptions options = adaptive_options();
  options.normalize_by = 1;
  options.steps = 100;
  const auto flat = [](const Weights& p, const Array& x, const Array& y) {
    return 0 * loss(p, x, y);
  };
  const Plan plan = make_plan(options);
  const Trainer trainer(plan, flat, optim::sgd(1.0));
  auto state = trainer.init(weights(), reproducible(random::key(0)));
  std::vector<float> last = parameters(state.params);
  double squares = 0, smallest = INFINITY;
  int64_t count = 0;
  for (int step = 0; step < 100; ++step) {
    const StepReport report = trainer.step(state, xs(), ys());
    const std::vector<float> now = parameters(state.params);
    for (size_t i = 0; i < now.size(); ++i, ++count)
      squares += std::pow((now[i] - last[i]) / report.clip_norm, 2);
    smallest = std::min(smallest, report.clip_norm);
    last = now;
  }
  EXPECT_LT(smallest, .25);  // gradients are 0, so the clip norm falls from 0.5
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), plan.stddev() / .5, .2);
}

TEST(AdaptiveClipNormTest, WhatIsRefused) {
  const auto refused = [](const auto& change, const char* text) {
    PlanOptions options = adaptive_options();
    change(options);
    expect_error([&] { make_plan(options); }, text);
  };
  refused([](auto& o) { o.adaptive_clip_norm->target_quantile = 1; }, "target_quantile");
  refused([](auto& o) { o.adaptive_clip_norm->learning_rate = 0; }, "learning_rate");
  refused([](auto& o) { o.adaptive_clip_norm->count_stddev = 0; }, "count_stddev of");
  refused([](auto& o) { o.adaptive_clip_norm->count_stddev = .5; }, "above 0.5, half of the noise");
  refused(
      [](auto& o) {
        o.sampling_prob = 0;
        o.normalize_by = 1;
      },
      "batch size above 0 for an adaptive_clip_norm");
  refused([](auto& o) { o.mechanism = DiscreteGaussian{}; },
          "expected no adaptive_clip_norm for DiscreteGaussian");
  refused([](auto& o) { o.subtree_norms = {{"w", 1.0}}; }, "without subtree_norms");
  refused([](auto& o) { o.clip_norm_schedule = {{0, 1}, {2, 2}}; }, "without clip_norm_schedule");
}

}  // namespace
}  // namespace tessera::privacy::adaptive_clip_norm_test
