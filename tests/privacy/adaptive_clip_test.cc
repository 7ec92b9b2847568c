#include "tessera/privacy/clipping/adaptive_clip.h"

#include <cmath>

#include "../errors.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/creation.h"
#include "tessera/privacy/accounting/gaussian_mechanism.h"
#include "tessera/privacy/clipping/clipped_grad.h"
#include "tessera/privacy/noise/noise_addition.h"

namespace tessera::privacy::adaptive_clip_test {
namespace {

using tessera::test::expect_error;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
const AdaptiveClipOptions kOptions{.initial_norm = 2, .count_stddev = 10, .expected_batch_size = 8};

double count(const Array& norms, float clip_norm) {
  return AdaptiveClip(kOptions).centered_count(norms, Array(clip_norm)).item<double>();
}

TEST(AdaptiveClip, CountsThoseThatAreNotClipped) {
  const Array norms = array({0.f, 1.f, 2.f, 2.5f, kInf, kNan});
  EXPECT_EQ(count(norms, 2.f), 0);
  EXPECT_EQ(count(norms, 3.f), 1);
  EXPECT_EQ(count(norms, 0.5f), -2);
  EXPECT_EQ(count(zeros({0}), 1.f), 0);
  const Array padding = array({true, false, false, false, true, true});
  EXPECT_EQ(AdaptiveClip(kOptions).centered_count(norms, Array(2.f), padding).item<double>(), 0.5);
}

// An example changes the count by half, whatever the others are, even if all are on one side.
TEST(AdaptiveClip, AnExampleMovesTheCountByAHalf) {
  for (const float others : {0.f, 5.f, kNan})
    for (const float one : {0.f, 1.f, 5.f, kInf, kNan}) {
      const Array without = full({1000}, others), with = concatenate({without, array({one})});
      EXPECT_EQ(std::abs(count(with, 1.f) - count(without, 1.f)), 0.5) << others << " " << one;
    }
}

TEST(AdaptiveClip, CountsOfLargeBatchesAreExact) {
  const Array all = zeros({(int64_t{1} << 24)});
  EXPECT_EQ(count(all, 1.f), 8388608.0);
  EXPECT_EQ(count(index(all, {Slice(1, None)}), 1.f), 8388607.5);
}

TEST(AdaptiveClip, TheNormMovesByTheFormula) {
  const AdaptiveClip clip({.initial_norm = 2,
                           .target_quantile = 0.3,
                           .learning_rate = 0.5,
                           .count_stddev = 10,
                           .expected_batch_size = 8});
  EXPECT_EQ(clip.init().item<double>(), 2);
  for (const double noisy : {-4.0, 0.0, 3.2, 100.0}) {
    const double fraction = 0.5 + noisy / 8;
    EXPECT_NEAR(clip.update(clip.init(), Array(static_cast<float>(noisy))).item<double>(),
                2 * std::exp(-0.5 * (fraction - 0.3)), 1e-5);
  }
}

TEST(AdaptiveClip, TheNormStaysBetweenItsEnds) {
  AdaptiveClipOptions options = kOptions;
  options.min_norm = 1, options.max_norm = 3;
  const AdaptiveClip clip(options);
  EXPECT_EQ(clip.update(clip.init(), Array(1e6f)).item<double>(), 1);
  EXPECT_EQ(clip.update(clip.init(), Array(-1e6f)).item<double>(), 3);
}

// In a program with noise the norm finds the quantile: the median of norms |N(0, 1)| is .6745.
TEST(AdaptiveClip, TheNormFindsItsQuantile) {
  const AdaptiveClip clip({.initial_norm = 50, .count_stddev = 20, .expected_batch_size = 512});
  const auto step = jit([clip](const Array& norm, const Array& key_data) {
    const random::Key key = random::wrap_key_data(key_data);
    const auto [of_norms, of_noise] = random::split<2>(key);
    const Array norms = abs(random::normal(of_norms, {512}));
    const Array noise = random::normal(of_noise) * clip.options().count_stddev;
    return clip.update(norm, clip.centered_count(norms, norm) + noise);
  });
  Array norm = clip.init();
  double mean = 0;
  for (uint32_t i = 0; i < 200; ++i) {
    norm = step(norm, random::fold_in(random::key(0), i).data);
    if (i >= 100) mean += norm.item<double>() / 100;
  }
  EXPECT_NEAR(mean, 0.6745, 0.03);
}

TEST(AdaptiveClip, NoiseOfBothIsThatOfOneMechanism) {
  EXPECT_NEAR(sum_noise_multiplier(1, 10), 1 / std::sqrt(1 - 1 / 400.0), 1e-15);
  for (const double z : {0.3, 1.0, 5.0}) {
    const double of_sum = AdaptiveClip(kOptions).gradient_noise_multiplier(z);
    EXPECT_GT(of_sum, z);
    EXPECT_NEAR(joint_noise_multiplier(of_sum, 10), z, 1e-14);
    // One example moves the vector (sum / of_sum, count / count_stddev) by this norm.
    EXPECT_NEAR(std::hypot(1 / of_sum, 0.5 / 10), 1 / z, 1e-12);
  }
  EXPECT_EQ(sum_noise_multiplier(0, 10), 0);
  EXPECT_EQ(joint_noise_multiplier(0, 10), 0);
  EXPECT_NEAR(sum_noise_multiplier(2, 1e9), 2, 1e-15);
}

// A clip norm that changes is an Array. With rescale_to_unit_norm the sensitivity is 1 plus the
// rounding, whatever the norm.
TEST(AdaptiveClip, ClipsAStep) {
  const auto loss = [](const Array& w, const Array& x) { return sum(w * x); };
  const AdaptiveClip clip(kOptions);
  const Array norm = clip.init(), x = array({{3.f, 4.f}, {0.6f, 0.8f}});
  const auto clipped = clipped_value_and_grad(
      loss, {.l2_clip_norm = norm, .rescale_to_unit_norm = true, .batch_argnums = {1}});
  EXPECT_NEAR(clipped.sensitivity(), 1, 0.02);
  EXPECT_GE(clipped.sensitivity(), 1);
  const auto out = clipped(zeros({2}), x);
  EXPECT_NEAR(index_in_dim(out.grads, 0).item<double>(), 0.6 + 0.3, 1e-5);
  EXPECT_EQ(clip.centered_count(out.grad_norms, norm).item<double>(), 0);
}

TEST(AdaptiveClip, OptionsOutsideTheirRangeAreErrors) {
  const auto with = [](auto change) {
    AdaptiveClipOptions options = kOptions;
    change(options);
    return [=] { AdaptiveClip{options}; };
  };
  using O = AdaptiveClipOptions;
  expect_error(with([](O& o) { o.initial_norm = 0; }),
               "[privacy::AdaptiveClip] expected a finite initial_norm above 0, got 0");
  expect_error(with([](O& o) { o.learning_rate = -1; }), "learning_rate above 0, got -1");
  expect_error(with([](O& o) { o.expected_batch_size = 0; }), "expected_batch_size above 0, got 0");
  expect_error(with([](O& o) { o.count_stddev = 0; }),
               "expected a finite count_stddev above 0, got 0");
  expect_error(with([](O& o) { o.target_quantile = kNan; }),
               "expected a target_quantile in [0, 1], got nan");
  expect_error(with([](O& o) { o.min_norm = 3; }),
               "expected 0 <= min_norm <= initial_norm <= max_norm, got 3, 2 and inf");
  expect_error(with([](O& o) { o.max_norm = 1; }), "got 0, 2 and 1");
}

TEST(AdaptiveClip, MultipliersOutsideTheirRangeAreErrors) {
  expect_error([] { sum_noise_multiplier(-1, 10); },
               "[privacy::sum_noise_multiplier] expected a finite noise_multiplier of at least 0, "
               "got -1");
  expect_error([] { sum_noise_multiplier(4, 2); },
               "expected a count_stddev above 2, half of the noise_multiplier, got 2");
  expect_error([] { sum_noise_multiplier(1, 0); }, "expected a finite count_stddev above 0, got 0");
  expect_error([] { joint_noise_multiplier(kNan, 1); },
               "[privacy::joint_noise_multiplier] expected a finite sum_noise_multiplier of at "
               "least 0, got nan");
  expect_error([] { joint_noise_multiplier(1, -1); }, "got -1");
}

TEST(AdaptiveClip, ArgumentsOfOtherShapesAreErrors) {
  const AdaptiveClip clip(kOptions);
  const Array norms = zeros({4}), norm = clip.init();
  expect_error(
      [&] {
        clip.centered_count(zeros({4, 1}), norm);
      },
      "expected norms of one floating-point dimension of at most 2^24 examples, got "
      "float32[4,1]");
  expect_error([&] { clip.centered_count(zeros({4}, int32), norm); }, "got int32[4]");
  expect_error([&] { clip.centered_count(norms, norms); },
               "expected an l2_clip_norm that is a floating-point scalar, got float32[4]");
  expect_error(
      [&] { clip.centered_count(norms, norm, zeros({3}, bool_)); },
      "expected a padding mask of the norms' shape and bool, got bool[3] with norms float32[4]");
  expect_error([&] { clip.centered_count(norms, norm, zeros({4})); }, "got float32[4] with norms");
  expect_error([&] { clip.update(norm, norms); }, "expected a noisy_count that is a");
  expect_error([&] { clip.update(norms, norm); }, "expected an l2_clip_norm that is a");
}

}  // namespace
}  // namespace tessera::privacy::adaptive_clip_test
