// The dtypes and weak types of results, as those of jax.numpy, where a function chooses them.
#include <cmath>

#include "../errors.h"
#include "tessera/tessera.h"

namespace tessera::result_types_test {
namespace {

using test::expect_error;
using testing::ElementsAre;

class WithX64 {
 public:
  WithX64() { enable_x64(true); }
  ~WithX64() { enable_x64(false); }
};

TEST(ResultTypes, RunningTotalsOfBool) {
  const Array x = array({true, false, true});
  EXPECT_EQ(cumsum(x).dtype(), int32);
  EXPECT_EQ(cumprod(array({2, 0, 3}), {.dtype = bool_}).dtype(), bool_);
  EXPECT_THAT(to_vector<int>(cumprod(array({2, 0, 3}), {.dtype = bool_})), ElementsAre(1, 0, 0));
  EXPECT_THAT(to_vector<int>(cumsum(array({-1, 1, 0}), {.dtype = bool_})), ElementsAre(1, 1, 1));
  const WithX64 wide;
  EXPECT_EQ(cumsum(x).dtype(), int64);
  EXPECT_EQ(nancumprod(x).dtype(), int64);
  EXPECT_EQ(cumsum(astype(x, int8)).dtype(), int8);
}

// C++ numbers are weakly typed: they do not make float32 float64.
TEST(ResultTypes, NumbersDoNotWiden) {
  const WithX64 wide;
  const Array x = array({1, 2, 4}, int32);
  EXPECT_EQ(trapezoid(x, {.dx = 0.5}).dtype(), float32);
  EXPECT_EQ(trapezoid(ones({3}, float32), {.dx = 0.5}).dtype(), float32);
  EXPECT_EQ(trapezoid(x, {.x = ones(3)}).dtype(), float64);
  EXPECT_EQ(polyint(x).dtype(), float32);
  EXPECT_EQ(polyint(x, 1, ones(1)).dtype(), float64);
  EXPECT_EQ(squareplus(x).dtype(), float32);
}

TEST(ResultTypes, WeakTypesOfActivations) {
  const Array x = array({1, 2, 4}, int8);
  EXPECT_FALSE(squareplus(x).weak_type());
  EXPECT_TRUE(sparse_plus(x).weak_type());
  EXPECT_TRUE(sparse_sigmoid(x).weak_type());
  EXPECT_FALSE(sparse_plus(ones(3, bfloat16)).weak_type());
  EXPECT_EQ(sparse_plus(ones(3, bfloat16)).dtype(), bfloat16);
}

// They are elements of the first operand, so they have its dtype.
TEST(ResultTypes, DifferenceOfSets) {
  const Array a = array({1, 2, 3}, uint32), b = array({2}, int32);
  EXPECT_EQ(setdiff1d(a, b, 2).dtype(), uint32);
  EXPECT_THAT(to_vector<int>(setdiff1d(a, b, 2)), ElementsAre(1, 3));
  EXPECT_EQ(setdiff1d(a, ones(2), 2).dtype(), uint32);
  EXPECT_EQ(union1d(a, b, 2).dtype(), int32);
}

// A bool next to integers counts as one.
TEST(ResultTypes, DivisorsOfIntegersAndBool) {
  EXPECT_THAT(to_vector<int>(lcm(array({4, 6}), true)), ElementsAre(4, 6));
  EXPECT_EQ(gcd(array({true, false}), array({4, 6}, int8)).dtype(), int8);
  expect_error([] { gcd(array({true}), true); }, "[gcd] expected integers, got bool[1]");
}

TEST(ResultTypes, NormsOfWholeOrders) {
  const Array x = array({{1.0f, -2.0f, 2.0f}, {3.0f, 0.0f, -4.0f}});
  for (const double p : {3.0, -1.0, 4.0, 2.5}) {
    const auto expected = [p](double a, double b, double c) {
      const auto power = [p](double v) { return std::pow(v, p); };
      return static_cast<float>(std::pow(power(a) + power(b) + power(c), 1 / p));
    };
    const std::vector<float> got = to_vector<float>(linalg::norm(x, {.ord = p, .axis = 1}));
    EXPECT_FLOAT_EQ(got[0], expected(1, 2, 2)) << p;
    EXPECT_FLOAT_EQ(got[1], expected(3, 0, 4)) << p;
  }
}

// With a dtype of integers, quotients are rounded towards zero; a variance is still a float.
TEST(ResultTypes, MeansOfIntegerDtypes) {
  const Array x = array({1, 2, 4}), f = array({-1.5f, 2.25f, -4.9f});
  EXPECT_EQ(mean(x, {.dtype = int32}).dtype(), int32);
  EXPECT_EQ(mean(x, {.dtype = int32}).item<int>(), 2);
  EXPECT_EQ(mean(f, {.dtype = int32}).item<int>(), -1);
  EXPECT_EQ(nanmean(f, {.dtype = uint8}).dtype(), uint8);
  EXPECT_EQ(mean(zeros(0), {.dtype = int32}).item<int>(), -1);
  EXPECT_EQ(var(x, {.dtype = int32}).dtype(), float32);
  EXPECT_EQ(var(x, {.dtype = int32}).item<float>(), 1);
  EXPECT_TRUE(std::isnan(var(zeros(0), {.dtype = int32}).item<float>()));
  EXPECT_EQ(nanvar(x, {.dtype = uint8}).dtype(), uint8);
  EXPECT_EQ(nanvar(x, {.dtype = uint8}).item<int>(), 1);
  EXPECT_EQ(nanvar(zeros(0), {.dtype = int32}).item<int>(), 0);
  EXPECT_EQ(var(f, {.dtype = complex64}).dtype(), complex64);
  expect_error([&] { std(x, {.dtype = int32}); }, "[std] expected a floating-point dtype");
  expect_error([&] { var(ones(2, complex64), {.dtype = float32}); }, "[var] expected a numeric");
  expect_error([&] { mean(x, {.dtype = bool_}); }, "[mean] expected a dtype of numbers, got bool");
}

TEST(ResultTypes, QuantilesOfNothing) {
  const Array x = zeros({0, 3});
  EXPECT_TRUE(all(isnan(nanpercentile(x, array({25, 75}), {.axis = 0}))).item<bool>());
  EXPECT_EQ(nanpercentile(x, array({25, 75}), {.axis = 0}).shape(), (Shape{2, 3}));
  EXPECT_EQ(nanquantile(x, 0.5, {.axis = 0, .keepdims = true}).shape(), (Shape{1, 3}));
  EXPECT_TRUE(std::isnan(nanmedian(zeros(0, int32)).item<float>()));
  EXPECT_EQ(median(x, {.axis = 1}).shape(), (Shape{0}));
  expect_error([&] { percentile(x, 50); }, "[percentile] expected at least one element");
  const auto [counts, edges] = histogram(x, {.bins = 2});
  EXPECT_THAT(to_vector<float>(counts), ElementsAre(0, 0));
  EXPECT_THAT(to_vector<float>(edges), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(to_vector<int>(unique(zeros(0, int16), 2, {.fill_value = 7})), ElementsAre(7, 7));
  EXPECT_EQ(unique(x, 2, {.axis = 0, .fill_value = 7}).shape(), (Shape{2, 3}));
  EXPECT_EQ(unique(zeros(0), 0).shape(), (Shape{0}));
  EXPECT_THAT(to_vector<int>(unique_all(x, 1, {.fill_value = 7}).counts), ElementsAre(0));
  EXPECT_EQ(unique_all(x, 1, {.fill_value = 7}).inverse_indices.shape(), x.shape());
  expect_error([&] { unique(x, 1); }, "[unique] expected at least one element, or a fill_value");
  EXPECT_EQ(cov(zeros(0)).shape(), (Shape{}));
  EXPECT_EQ(cov(x).shape(), (Shape{0, 0}));
}

TEST(ResultTypes, ExtentsBelowZero) {
  expect_error([] { lax::full({2, -1}, 1, float32); }, "[full] expected extents of at least 0");
  expect_error([] { lax::iota(int32, {-2}, 0); }, "[iota] expected extents of at least 0");
  expect_error([] { result_type(std::span<const Array>()); },
               "[result_type] expected at least one array, got none");
}

TEST(ResultTypes, ErrorsNameTheKindsInASentence) {
  expect_error(
      [] { ones(3) << 1; },
      "[shift_left] expected an integer array (I1), got float32[3]; convert it with astype");
  expect_error([] { -array({true}); },
               "[negate] expected an integer, floating-point or complex array (I1), got bool[1]");
}

}  // namespace
}  // namespace tessera::result_types_test
