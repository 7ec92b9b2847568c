// Clipped sums on a grid (ClipOptions::grid_scale).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/warning.h"
#include "tessera/tessera.h"
#include "tests/errors.h"
#include "tests/privacy/random_loss.h"

namespace tessera::privacy::clipped_grid_test {
namespace {

using helpers::Params;
using helpers::RandomLoss;
using ::testing::ElementsAre;

Array linear(const Array& w, const Array& x) { return sum(w * x); }

TEST(ClippedGrid, SumsAreWholeStepsOfTheClipNorm) {
  // The gradients (3, 4), clipped from 5 to 2, and (.5, 0), in steps of 2 / 1000.
  const Array x = array({{3.0f, 4.0f}, {.5f, 0.0f}});
  const auto clipped = clipped_grad(linear, {.l2_clip_norm = 2, .grid_scale = 1000});
  const Array out = clipped(ones({2}), x);
  EXPECT_EQ(out.dtype(), int32);
  // They become, clipped to 1000 (1 - 1e-5) - sqrt(2) / 2 steps, (599.6, 799.4) and (250, 0).
  EXPECT_THAT(to_vector<int>(out), ElementsAre(850, 799));
  EXPECT_EQ(clipped.sensitivity(NeighboringRelation::kAddOrRemoveOne), 1000);
  EXPECT_EQ(clipped.sensitivity(NeighboringRelation::kReplaceOne), 2000);
}

// Returns the steps of one example.
std::vector<double> steps_of(const Params& sums) {
  std::vector<double> out;
  for (const Array& leaf : sums)
    for (double v : to_vector<double>(astype(leaf, float64))) out.push_back(v);
  return out;
}

TEST(ClippedGrid, ExamplesAddUpExactlyAndAreNoLongerThanTheScale) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const RandomLoss loss(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ":" + loss.text());
    const auto keys = random::split<3>(random::key(static_cast<int64_t>(seed)));
    Params params;
    for (size_t i = 0; i < loss.parameter_shapes().size(); ++i)
      params.push_back(.7f *
                       random::normal(random::fold_in(keys[0], i), loss.parameter_shapes()[i]));
    const int64_t size = 5;
    const Array x = random::normal(keys[1], {size, loss.tokens(), loss.features()}),
                tokens = random::randint(keys[2], {size, loss.tokens()}, Array(0),
                                         Array(loss.vocabulary()), int32);
    const auto clipped = clipped_grad(loss, {.l2_clip_norm = .25,
                                             .batch_argnums = {1, 2},
                                             .keep_batch_dim = false,
                                             .grid_scale = 4096});
    const std::vector<double> all = steps_of(clipped(params, x, tokens));
    std::vector<double> sum(all.size());
    for (int64_t b = 0; b < size; ++b) {
      const std::vector<double> one = steps_of(
          clipped(params, slice_in_dim(x, b, b + 1, 0), slice_in_dim(tokens, b, b + 1, 0)));
      double squares = 0;
      for (size_t i = 0; i < one.size(); ++i) sum[i] += one[i], squares += one[i] * one[i];
      EXPECT_LE(std::sqrt(squares), 4096);
    }
    EXPECT_EQ(sum, all);
  }
}

TEST(ClippedGrid, ExamplesThatAreNotFiniteGiveNothing) {
  const auto clipped = clipped_grad(linear, {.grid_scale = 1000});
  const Array x = array({{.5f, 0.0f}, {NAN, 1.0f}, {INFINITY, 0.0f}});
  EXPECT_THAT(to_vector<int>(clipped(ones({2}), x)), ElementsAre(500, 0));
}

TEST(ClippedGrid, RefusesWhatTheGridCannotHold) {
  const Array w = ones({2}), x = ones({4, 2});
  const auto error = [&](ClipOptions options, const char* text) {
    tessera::test::expect_error([&] { clipped_grad(linear, options)(w, x); }, text);
  };
  error({.normalize_by = 2, .grid_scale = 1000}, "expected neither normalize_by");
  error({.rescale_to_unit_norm = true, .grid_scale = 1000}, "rescale_to_unit_norm");
  error({.dtype = float32, .grid_scale = 1000}, "nor dtype with grid_scale");
  error({.l2_clip_norm = Array(1.0f), .grid_scale = 1000}, "expected a finite l2_clip_norm");
  error({.l2_clip_norm = INFINITY, .grid_scale = 1000}, "expected a finite l2_clip_norm");
  error({.l2_clip_norm = 0, .grid_scale = 1000}, "expected a finite l2_clip_norm above 0");
  error({.grid_scale = 0}, "expected a grid_scale above 0.7071");
  error({.grid_scale = int64_t{1} << 22}, "expected a grid_scale of at most 2097152, got 4194304");
  tessera::test::expect_error(
      [&] {
        clipped_grad(linear, {.grid_scale = 1 << 20})(w, ones({4096, 2}));
      },
      "expected a grid_scale of at most 524287 for 4096 examples");
  tessera::test::expect_error(
      [&] {
        clipped_fun([](const Array& v) { return sum(v); },
                    {.normalize_by = 2, .grid_scale = 1000})(x);
      },
      "expected neither normalize_by");
  tessera::test::expect_error(
      [&] {
        const auto loss = [](const Array& v, const Array& y) { return sum(real(v) * y); };
        clipped_grad(loss, {.grid_scale = 1000})(astype(w, complex64), x);
      },
      "expected real numbers to round to a grid, got complex64");
}

// If rounding to a coarse grid takes much of the clip norm, there is a warning.
TEST(ClippedGrid, WarnsOfRoundingThatTakesMuch) {
  std::vector<std::string> warnings;
  const WarningHandler before =
      set_warning_handler([&](const std::string& text) { warnings.push_back(text); });
  const auto clip = [](int64_t parameters, int64_t scale) {
    clipped_grad(linear, {.grid_scale = scale})(ones({parameters}), ones({2, parameters}));
  };
  clip(100, 501);
  EXPECT_TRUE(warnings.empty());
  clip(100, 400);
  set_warning_handler(before);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0],
              ::testing::HasSubstr("rounding the gradients of 100 parameters to whole steps of a "
                                   "grid takes 1.2 % of their clip norm"));
}

// The values of clipped_fun, and gradients that are transformed before they are clipped.
TEST(ClippedGrid, ValuesAreWholeStepsToo) {
  const Array x = array({{3.0f, 4.0f}, {.5f, 0.0f}, {NAN, 1.0f}});
  const auto clipped = clipped_fun([](const Array& v) { return sum(v, {.axis = 0}); },
                                   {.l2_clip_norm = 2, .grid_scale = 1000});
  EXPECT_THAT(to_vector<int>(clipped(x)), ElementsAre(850, 799));
  EXPECT_EQ(clipped.sensitivity(NeighboringRelation::kAddOrRemoveOne), 1000);
  const auto doubled = [](const Array& g) { return 2 * g; };
  const auto transformed =
      clipped_value_and_grad(linear, {.l2_clip_norm = 2, .grid_scale = 1000}, doubled);
  EXPECT_THAT(to_vector<int>(transformed(ones({2}), x).grads), ElementsAre(1100, 799));
}

}  // namespace
}  // namespace tessera::privacy::clipped_grid_test
