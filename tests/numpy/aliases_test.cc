// Functions with two names, and small functions that no other test calls: they return the same as
// those they stand for, and have the same gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/tessera.h"

namespace tessera::aliases_test {
namespace {

using testing::Each;
using testing::ElementsAre;

using Unary = std::function<Array(const Array&)>;

// Expects equal values and equal gradients of the sum.
void expect_same(const char* name, const Unary& f, const Unary& g, const Array& x) {
  const auto total = [](const Unary& h) { return grad([h](const Array& v) { return sum(h(v)); }); };
  EXPECT_TRUE(array_equal(f(x), g(x))) << name;
  EXPECT_TRUE(array_equal(total(f)(x), total(g)(x))) << name;
}

TEST(Aliases, ReturnTheSame) {
  const Array x = array({{0.5f, -1.5f, 2.0f}, {3.0f, 0.25f, -0.75f}}), y = abs(x) + 1;
  expect_same(
      "amax", [](const Array& v) { return amax(v, {.axis = 1}); },
      [](const Array& v) { return max(v, {.axis = 1}); }, x);
  expect_same(
      "amin", [](const Array& v) { return amin(v); }, [](const Array& v) { return min(v); }, x);
  expect_same(
      "true_divide", [&](const Array& v) { return true_divide(v, y); },
      [&](const Array& v) { return v / y; }, x);
  expect_same(
      "permute_dims",
      [](const Array& v) {
        return permute_dims(v, {1, 0});
      },
      [](const Array& v) { return transpose(v); }, x);
  expect_same(
      "swish", [](const Array& v) { return swish(v); }, [](const Array& v) { return silu(v); }, x);
  expect_same(
      "atleast_3d", [](const Array& v) { return atleast_3d(v); },
      [](const Array& v) {
        return reshape(v, {2, 3, 1});
      },
      x);
  expect_same(
      "matrix_norm", [](const Array& v) { return linalg::matrix_norm(v); },
      [](const Array& v) { return linalg::norm(v, {.ord = "fro"}); }, x);
  expect_same(
      "batch_matmul",
      [&](const Array& v) {
        return lax::batch_matmul(reshape(v, {1, 2, 3}), reshape(y, {1, 3, 2}));
      },
      [&](const Array& v) {
        return reshape(matmul(v, reshape(y, {3, 2})), {1, 2, 2});
      },
      x);
}

TEST(Aliases, BroadcastArrays) {
  const std::vector<Array> got = broadcast_arrays({arange(3), array({{1}, {2}}), 7});
  ASSERT_EQ(got.size(), 3u);
  EXPECT_THAT(to_vector<int>(got[0]), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(to_vector<int>(got[1]), ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(to_vector<int>(got[2]), Each(7));
  EXPECT_EQ(got[2].shape(), (Shape{2, 3}));
}

TEST(Aliases, Comparisons) {
  const Array x = array({1.0f, 2.0f, 3.0f}), y = array({2.0f, 2.0f, 2.0f});
  EXPECT_THAT(to_vector<int>(lax::le(x, y)), ElementsAre(1, 1, 0));
  EXPECT_THAT(to_vector<int>(lax::ne(x, y)), ElementsAre(1, 0, 1));
  EXPECT_THAT(to_vector<int>(lax::reduce_and(lax::le(x, y), {0})), ElementsAre(0));
  EXPECT_THAT(to_vector<int>(lax::reduce_or(lax::ne(x, y), {0})), ElementsAre(1));
}

TEST(Aliases, RoundingMethods) {
  const Array x = array({0.5f, 1.5f, 2.5f, -0.5f});
  EXPECT_THAT(to_vector<float>(lax::round(x, lax::RoundingMethod::kToNearestEven)),
              ElementsAre(0, 2, 2, 0));
  EXPECT_THAT(to_vector<float>(lax::round(x, lax::RoundingMethod::kAwayFromZero)),
              ElementsAre(1, 2, 3, -1));
}

TEST(Aliases, ResultTypes) {
  EXPECT_EQ(result_type({ones(2, bfloat16), ones(2, int32)}).dtype, bfloat16);
  EXPECT_EQ(result_type({ones(2, int8), Array(3)}).dtype, int8);
  EXPECT_FALSE(result_type({ones(2, int8), Array(3)}).weak);
  EXPECT_TRUE(result_type({Array(1.5), Array(3)}).weak);
}

TEST(Aliases, ConvolutionWithGeneralPadding) {
  const Array x = reshape(arange(8, float32), {1, 1, 8}),
              k = reshape(arange(3, float32), {1, 1, 3});
  EXPECT_TRUE(array_equal(lax::conv_with_general_padding(x, k, {2}, {{1, 1}}, {1}, {1}),
                          lax::conv_general_dilated(x, k, {2}, lax::Padding{{1, 1}})));
}

TEST(Aliases, KeysAndInitializers) {
  const random::Key key = random::PRNGKey(3);
  EXPECT_TRUE(
      array_equal(random::bits(random::clone(key), {4}), random::bits(random::key(3), {4})));
  EXPECT_TRUE(array_equal(initializers::kaiming_normal()(key, {4, 3}),
                          initializers::he_normal()(key, {4, 3})));
  EXPECT_TRUE(array_equal(initializers::kaiming_uniform()(key, {4, 3}),
                          initializers::he_uniform()(key, {4, 3})));
  EXPECT_TRUE(array_equal(initializers::xavier_normal()(key, {4, 3}),
                          initializers::glorot_normal()(key, {4, 3})));
  EXPECT_TRUE(array_equal(initializers::xavier_uniform()(key, {4, 3}),
                          initializers::glorot_uniform()(key, {4, 3})));
}

}  // namespace
}  // namespace tessera::aliases_test
