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

TEST(ResultTypes, ErrorsNameTheKindsInASentence) {
  expect_error(
      [] { ones(3) << 1; },
      "[shift_left] expected an integer array (I1), got float32[3]; convert it with astype");
  expect_error([] { -array({true}); },
               "[negate] expected an integer, floating-point or complex array (I1), got bool[1]");
}

}  // namespace
}  // namespace tessera::result_types_test
