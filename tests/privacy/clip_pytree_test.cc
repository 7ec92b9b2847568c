#include "tessera/privacy/clipping/clip_pytree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "tessera/tessera.h"
#include "tests/errors.h"
#include "tests/numpy/run.h"

namespace tessera::privacy::clip_pytree_test {
namespace {

using ::tessera::test::expect_error;
using ::testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Tree {
  Array a, b;
};
// Norm 13.
Tree tree_of_13() { return {array({3.0f, 4.0f}), Array(12.0f)}; }

std::vector<float> elements(const Array& x) { return to_vector<float>(x); }

TEST(ClipPytree, LeavesAShorterTreeAsItIs) {
  const auto [clipped, norm] = clip_pytree(tree_of_13(), 14);
  EXPECT_THAT(elements(clipped.a), ElementsAre(3, 4));
  EXPECT_EQ(clipped.b.item<float>(), 12);
  EXPECT_EQ(norm.item<float>(), 13);
}

TEST(ClipPytree, ScalesALongerTree) {
  const auto [clipped, norm] = clip_pytree(tree_of_13(), 6.5);
  EXPECT_THAT(elements(clipped.a), ElementsAre(1.5, 2));
  EXPECT_EQ(clipped.b.item<float>(), 6);
  EXPECT_EQ(norm.item<float>(), 13);
}

TEST(ClipPytree, RescalesToUnitNorm) {
  EXPECT_FLOAT_EQ(clip_pytree(tree_of_13(), 6.5, true).first.b.item<float>(), 12.0f / 13);
  EXPECT_FLOAT_EQ(clip_pytree(tree_of_13(), 26, true).first.b.item<float>(), 12.0f / 26);
}

// The table of clip_pytree.h, which is jax_privacy's.
TEST(ClipPytree, EdgesOfClipNorms) {
  const auto of = [](const Tree& t, double clip, bool rescale) {
    return clip_pytree(t, clip, rescale).first.b.item<float>();
  };
  const Tree zero{array({0.0f, 0.0f}), Array(0.0f)};
  EXPECT_EQ(of(tree_of_13(), 0, false), 0);
  EXPECT_FLOAT_EQ(of(tree_of_13(), 0, true), 12.0f / 13);
  EXPECT_EQ(of(tree_of_13(), kInf, false), 12);
  EXPECT_EQ(of(tree_of_13(), kInf, true), 0);
  for (double clip : {0.0, 1.0, double{kInf}})
    for (bool rescale : {false, true}) EXPECT_EQ(of(zero, clip, rescale), 0);
}

TEST(ClipPytree, TakesAnArrayAsClipNorm) {
  const auto clipped =
      jit([](const Array& x, const Array& clip) { return clip_pytree(x, clip).first; });
  const Array x = array({3.0f, 4.0f});
  EXPECT_THAT(elements(clipped(x, Array(2.5f))), ElementsAre(1.5, 2));
  EXPECT_THAT(elements(clipped(x, Array(10.0f))), ElementsAre(3, 4));
  // A clip norm that is not allowed clips to zero.
  EXPECT_THAT(elements(clipped(x, Array(-1.0f))), ElementsAre(0, 0));
  EXPECT_THAT(elements(clipped(x, Array(kNan))), ElementsAre(0, 0));
}

TEST(ClipPytree, ElementsThatAreNotFiniteCountAsZero) {
  const Tree t{array({3.0f, kNan, -kInf}), Array(4.0f)};
  const auto [clipped, norm] = clip_pytree(t, 2.5, false, NanSafe::kElement);
  EXPECT_THAT(elements(clipped.a), ElementsAre(1.5, 0, 0));
  EXPECT_EQ(clipped.b.item<float>(), 2);
  EXPECT_EQ(norm.item<float>(), 5);
}

TEST(ClipPytree, OrTheWholeTreeDoes) {
  for (float bad : {kNan, kInf, -kInf}) {
    const Tree t{array({3.0f, bad}), Array(4.0f)};
    const auto [clipped, norm] = clip_pytree(t, 2.5, false, NanSafe::kExample);
    EXPECT_THAT(elements(clipped.a), ElementsAre(0, 0));
    EXPECT_EQ(clipped.b.item<float>(), 0);
    EXPECT_FALSE(std::isfinite(norm.item<float>()));
  }
}

TEST(ClipPytree, OrTheyStay) {
  const Array clipped = clip_pytree(array({3.0f, kNan}), 2.5, false, NanSafe::kNo).first;
  EXPECT_TRUE(std::isnan(elements(clipped)[1]));
  // An infinite element becomes NaN, because infinity times 0 is NaN.
  EXPECT_TRUE(
      std::isnan(elements(clip_pytree(array({3.0f, kInf}), 2.5, false, NanSafe::kNo).first)[1]));
}

// Squares are float64: squares of large elements do not overflow, and those of small elements do
// not vanish.
TEST(ClipPytree, NormsOfLargeAndOfSmallElements) {
  const auto [large, norm] = clip_pytree(array({3e30f, 4e30f}), 1);
  EXPECT_THAT(elements(large), ElementsAre(::testing::FloatEq(.6f), ::testing::FloatEq(.8f)));
  EXPECT_FLOAT_EQ(norm.item<float>(), 5e30f);
  const auto [small, least] = clip_pytree(array({3e-30f, 4e-30f}), 0, true);
  EXPECT_THAT(elements(small), ElementsAre(::testing::FloatEq(.6f), ::testing::FloatEq(.8f)));
  EXPECT_FLOAT_EQ(least.item<float>(), 5e-30f);
}

TEST(ClipPytree, KeepsDtypesAndNormsInFloat32) {
  // The sum of 4096 ones: bfloat16 and float16 cannot count beyond 256 and 2048.
  for (DType dtype : {float16, bfloat16}) {
    const auto [clipped, norm] = clip_pytree(ones({4096}, dtype), 32);
    EXPECT_EQ(clipped.dtype(), dtype);
    EXPECT_EQ(norm.dtype(), float32);
    EXPECT_EQ(norm.item<float>(), 64);
    EXPECT_EQ(max(clipped).item<float>(), .5f);
  }
  // 300^2 overflows in float16.
  EXPECT_EQ(clip_pytree(full({4}, 300.0f, float16), 1e6).second.item<float>(), 600);
}

TEST(ClipPytree, Float64) {
  const tessera::test::X64 x64(true);
  const auto [clipped, norm] = clip_pytree(array({3.0, 4.0}), 1);
  EXPECT_EQ(clipped.dtype(), float64);
  EXPECT_EQ(norm.dtype(), float64);
  EXPECT_DOUBLE_EQ(to_vector<double>(clipped)[0], .6);
}

TEST(ClipPytree, ComplexElementsCountByAbsoluteValue) {
  const auto [clipped, norm] =
      clip_pytree(array(std::vector<std::complex<float>>{{3, 4}, {0, 12}}), 6.5);
  EXPECT_EQ(norm.item<float>(), 13);
  EXPECT_EQ(clipped.dtype(), complex64);
  EXPECT_THAT(to_vector<std::complex<float>>(clipped),
              ElementsAre(std::complex<float>(1.5, 2), std::complex<float>(0, 6)));
}

TEST(ClipPytree, MixedDtypesHaveOneNorm) {
  const tessera::test::X64 x64(true);
  const auto [clipped, norm] =
      clip_pytree(std::pair(array({3.0f, 4.0f}), array({12.0}, float64)), 6.5);
  EXPECT_EQ(norm.item<double>(), 13);
  EXPECT_EQ(clipped.first.dtype(), float32);
  EXPECT_EQ(clipped.second.dtype(), float64);
  EXPECT_EQ(clipped.second.item<double>(), 6);
}

TEST(ClipPytree, NothingHasNormZero) {
  EXPECT_EQ(clip_pytree(std::vector<Array>{}, 1).second.item<float>(), 0);
  EXPECT_EQ(clip_pytree(zeros({0, 3}), 1).second.item<float>(), 0);
}

TEST(ClipPytree, OfExamplesUnderVmap) {
  const Array x = array({{3.0f, 4.0f}, {.3f, .4f}});
  const auto [clipped, norms] = vmap([](const Array& x) { return clip_pytree(x, 1); })(x);
  EXPECT_THAT(elements(norms), ElementsAre(5, .5));
  EXPECT_THAT(elements(clipped), ElementsAre(.6f, .8f, .3f, .4f));
}

TEST(ClipPytree, RefusesClipNormsThatAreNone) {
  expect_error([] { clip_pytree(tree_of_13(), -1); },
               "[privacy] expected an l2_clip_norm of at least 0, got -1");
  expect_error([] { clip_pytree(tree_of_13(), std::nan("")); },
               "[privacy] expected an l2_clip_norm of at least 0, got nan");
  expect_error(
      [] {
        clip_pytree(tree_of_13(), array({1.0f, 2.0f}));
      },
      "[privacy] expected an l2_clip_norm that is a real floating-point scalar, got float32[2]");
  expect_error(
      [] { clip_pytree(tree_of_13(), Array(1)); },
      "[privacy] expected an l2_clip_norm that is a real floating-point scalar, got int32[]");
}

TEST(ClipPytree, RefusesIntegers) {
  expect_error(
      [] {
        clip_pytree(array({3, 4}), 1);
      },
      "[clip_pytree] expected floating-point or complex numbers to clip, got int32[2]; use astype");
}

}  // namespace
}  // namespace tessera::privacy::clip_pytree_test
