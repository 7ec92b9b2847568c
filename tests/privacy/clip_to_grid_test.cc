#include "tessera/privacy/clipping/clip_to_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/tessera.h"
#include "tests/errors.h"

namespace tessera::privacy::clip_to_grid_test {
namespace {

using tessera::test::expect_error;
using ::testing::ElementsAre;

struct Parts {
  Array a, b;
};
Array linear(const Parts& w, const Array& x, const Array& y) { return sum(w.a * x) + sum(w.b * y); }

Parts one() { return {ones({2}), ones({1})}; }

// The clip norms 3 and 4 are 5 together: steps of 5 / 1000, of which the parts have 600 and 800.
TEST(ClipToGrid, PartsHaveTheirSharesOfOneGrid) {
  const auto clipped = clipped_grad(linear, {.l2_clip_norm = 4,
                                             .subtree_norms = {{"a", 3.0}},
                                             .batch_argnums = {1, 2},
                                             .grid_scale = 1000});
  EXPECT_EQ(clipped.sensitivity(), 1000);
  const Parts out = clipped(one(), array({{30.f, 40.f}, {.3f, .4f}}), array({{100.f}, {1.f}}));
  // (30, 40) becomes 600 (1 - 1e-5) - sqrt(2) / 2 = 599.29 long: (359.57, 479.43).
  EXPECT_THAT(to_vector<int>(out.a), ElementsAre(360 + 60, 479 + 80));
  EXPECT_THAT(to_vector<int>(out.b), ElementsAre(799 + 200));
}

// The clip norms are halved and the grid is coarser by 4: steps of 2.5 / 250.
TEST(ClipToGrid, FactorsMoveTheNormsAndTheGrid) {
  ClipOptions options{.l2_clip_norm = 4,
                      .subtree_norms = {{"a", 3.0}},
                      .batch_argnums = {1, 2},
                      .grid_scale = 1000,
                      .grid_factors = GridFactors{Array(.5f), Array(.25f), .25, 1}};
  const Array x = array({{30.f, 40.f}, {.3f, .4f}}), y = array({{100.f}, {1.f}});
  const Parts out = clipped_grad(linear, options)(one(), x, y);
  // 150 (1 - 1e-5) - sqrt(2) / 2 = 149.29: (89.58, 119.43); and 200 - 1/2.
  EXPECT_THAT(to_vector<int>(out.a), ElementsAre(90 + 30, 119 + 40));
  EXPECT_THAT(to_vector<int>(out.b), ElementsAre(199 + 100));
  // The factors are data, so that one program is enough for all steps.
  int traces = 0;
  const auto step = jit([&](const Array& clip, const Array& scale) {
    ++traces;
    ClipOptions of_step = options;
    of_step.grid_factors->clip = clip;
    of_step.grid_factors->scale = scale;
    return clipped_grad(linear, of_step)(one(), x, y);
  });
  EXPECT_EQ(step(Array(.5f), Array(.25f)).a.to_host(), out.a.to_host());
  EXPECT_THAT(to_vector<int>(step(Array(1.f), Array(1.f)).b), ElementsAre(799 + 200));
  EXPECT_EQ(traces, 1);
}

// With any factors, the steps of an example are no longer than its share.
TEST(ClipToGrid, NothingIsLongerThanItsShare) {
  for (int64_t seed = 0; seed < 50; ++seed) {
    const auto keys = random::split<3>(random::key(seed));
    const float clip = .1f + static_cast<float>(seed % 7),
                scale = 1.f / static_cast<float>(1 + seed % 5);
    const auto clipped =
        clipped_grad(linear, {.l2_clip_norm = .5,
                              .subtree_norms = {{"a", 2.0}},
                              .batch_argnums = {1, 2},
                              .grid_scale = 200,
                              .grid_factors = GridFactors{Array(clip), Array(scale), .2, 1}});
    const Parts out = clipped(Parts{ones({50}), ones({3})}, 10 * random::normal(keys[0], {1, 50}),
                              10 * random::normal(keys[1], {1, 3}));
    const auto length = [](const Array& x) {
      return std::sqrt(sum(square(astype(x, float32))).item<double>());
    };
    const double whole = std::hypot(.5, 2) / 200 / scale;
    EXPECT_LE(length(out.a), 2 / whole);
    EXPECT_LE(length(out.b), .5 / whole);
    EXPECT_GT(length(out.a), 2 / whole - 8);
  }
}

TEST(ClipToGrid, Refuses) {
  const Array x = ones({4, 2}), y = ones({4, 1});
  const auto error = [&](ClipOptions options, const char* text) {
    options.batch_argnums = {1, 2};
    expect_error([&] { clipped_grad(linear, options)(one(), x, y); }, text);
  };
  const std::vector<SubtreeNorm> tiny{{"a", 1e-3}};
  error({.subtree_norms = tiny, .grid_scale = 500}, "expected a grid_scale above 707.1");
  error({.subtree_norms = {{"a", Array(1.f)}}, .grid_scale = 500},
        "expected a finite l2_clip_norm");
  error({.l2_clip_norm = 0, .subtree_norms = {{"a", 1.0}}, .grid_scale = 500},
        "expected a finite l2_clip_norm above 0");  // for b
  const auto factors = [](double least, double most) {
    return GridFactors{Array(1.f), Array(1.f), least, most};
  };
  error({.grid_scale = 500, .grid_factors = factors(2, 1)},
        "expected grid_factors with 0 < least_scale <= most_scale, got 2 and 1");
  error({.grid_scale = 500, .grid_factors = factors(0, 1)}, "got 0 and 1");
  error({.grid_scale = 500, .grid_factors = factors(1e-3, 1)}, "expected a grid_scale above 866.0");
  error({.grid_scale = 1 << 20, .grid_factors = factors(1, 4)},
        "expected a grid_scale of at most 2097152, got 4194304");
  error({.grid_scale = 500, .grid_factors = GridFactors{Array(1), ones({2})}},
        "expected grid_factors of floating-point scalars");
  error({.grid_factors = factors(1, 1)}, "expected grid_factors with grid_scale alone");
}

}  // namespace
}  // namespace tessera::privacy::clip_to_grid_test
