#include "tessera/numpy/operators.h"

#include <gtest/gtest.h>

#include <complex>
#include <random>

#include "run.h"
#include "tessera/base/namespaces.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/reduce.h"

namespace tessera::operators_test {

using namespace tracing;

namespace {

std::vector<int> ints(const Array& x) { return to_vector<int>(x); }
std::vector<float> floats(const Array& x) { return to_vector<float>(x); }

TEST(OperatorsTest, NumbersOnEitherSide) {
  const Array x = array({1, 2, 4});
  EXPECT_EQ(ints(2 * x + 1), (std::vector<int>{3, 5, 9}));
  EXPECT_EQ(ints(10 - x), (std::vector<int>{9, 8, 6}));
  EXPECT_EQ(floats(1 / x), (std::vector<float>{1, 0.5, 0.25}));
  EXPECT_EQ(ints(-7 % x), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(ints(1 << x), (std::vector<int>{2, 4, 16}));
  EXPECT_EQ(ints((x == 2) | (x > 3)), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(ints(3 >= x), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(ints(x != 2), (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(ints(~x & 6), (std::vector<int>{6, 4, 2}));
}

TEST(OperatorsTest, WeakNumbersKeepTheArraysDtype) {
  const Array half = array({1., 2.}, float16);
  EXPECT_EQ((half * 2).dtype(), float16);
  EXPECT_EQ((half * 2.5).dtype(), float16);
  EXPECT_EQ((array({1}) * 2.5).dtype(), float32);
  EXPECT_EQ((array({1}) / 2).dtype(), float32);
  EXPECT_EQ((array({1}, int8) + 1).dtype(), int8);
}

TEST(OperatorsTest, ComplexNumbersOnEitherSide) {
  using namespace std::complex_literals;
  const Array x = array({1., 2.});
  EXPECT_EQ((1i * x).dtype(), complex64);
  EXPECT_EQ(floats(imag(1i * x)), (std::vector<float>{1, 2}));
  EXPECT_EQ(floats(real(x - (2 + 1i))), (std::vector<float>{-1, 0}));
  EXPECT_EQ(ints(1i * x * 1i == -x), (std::vector<int>{1, 1}));
  EXPECT_TRUE(Array(2i).weak_type());
  EXPECT_EQ(floats(imag(jit([](const Array& v) { return v * 2if; })(x))),
            (std::vector<float>{2, 4}));
  const test::X64 x64(true);
  EXPECT_EQ((1i * array({1.}, float64)).dtype(), complex128);
  EXPECT_EQ((1i * array({1.}, float32)).dtype(), complex64);
}

TEST(OperatorsTest, CompoundAssignmentRebinds) {
  Array x = array({1, 2});
  const Array old = x;
  x += 1;
  x *= 3;
  x -= old;
  EXPECT_EQ(ints(x), (std::vector<int>{5, 7}));
  EXPECT_EQ(ints(old), (std::vector<int>{1, 2}));
  x %= 4;
  x <<= 2;
  x |= 1;
  x ^= 3;
  x >>= 1;
  x &= 7;
  EXPECT_EQ(ints(x), (std::vector<int>{3, 7}));
  x /= 2;
  EXPECT_EQ(floats(x), (std::vector<float>{1.5, 3.5}));
}

TEST(OperatorsTest, EagerCallsAreOneProgramWhateverTheNumber) {
  // The number is an argument, not a part of the program, so nothing is compiled again.
  const Array x = array({1., 2.});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(floats(x + i), (std::vector<float>{1.0f + i, 2.0f + i}));
}

TEST(OperatorsTest, NoBoolOfATracer) {
  FunctionTrace trace;
  const Array x = trace.add_input(Type{.dtype = float32, .shape = {}});
  try {
    if (x > 0) FAIL();
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kTrace);
  }
}

TEST(OperatorsTest, X64DoesNotMixPrograms) {
  const Array x = array({1, 2});
  EXPECT_EQ(count_nonzero(x).dtype(), int32);
  {
    const test::X64 x64(true);
    EXPECT_EQ(count_nonzero(x).dtype(), int64);
    EXPECT_EQ(fabs(x).dtype(), float32);
  }
  EXPECT_EQ(abs(x).dtype(), int32);
  EXPECT_EQ(count_nonzero(x).dtype(), int32);
}

// JAX flushes denormals to zero on a CPU.
TEST(OperatorsTest, DenormalsAreKept) {
  const float tiny = 1e-40F, least = 0x1p-149F;
  const std::vector<float> x(19, tiny);
  const auto f = [](const Array& a) {
    return std::vector<Array>{a * 1,
                              a + a,
                              a / 2,
                              -a,
                              maximum(a, 0),
                              sum(a),
                              sqrt(a),
                              abs(a),
                              where(a > 0, a, 1),
                              matmul(a, ones_like(a))};
  };
  const auto expect = [&](const std::vector<Array>& got) {
    const float expected[] = {tiny,      2 * tiny,        tiny / 2, -tiny, tiny,
                              19 * tiny, std::sqrt(tiny), tiny,     tiny,  19 * tiny};
    for (size_t k = 0; k < got.size(); ++k)
      EXPECT_NEAR(to_vector<float>(got[k])[0], expected[k], 19 * least) << k;
    for (size_t k = 0; k < 5; ++k) EXPECT_NE(to_vector<float>(got[k])[0], 0) << k;
  };
  expect(f(from_host(x)));
  expect(jit(f)(from_host(x)));
  // The reciprocal of this divisor is denormal.
  const auto quotient = [](const Array& a, const Array& b) { return a / b; };
  EXPECT_EQ(
      to_vector<float>(jit(quotient)(from_host(std::vector<float>(19, 3e37F)), array(9e37F)))[3],
      3e37F / 9e37F);
  EXPECT_EQ(to_vector<float>(array({least}) * 1)[0], least);
}

// A long random expression that is so expensive that parts of it are stored. Each element of a
// vector must have the bits that it has by itself.
TEST(OperatorsTest, OneElementIsRoundedAsManyAre) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const auto f = [seed](const Array& x) {
      std::mt19937 random(seed);
      std::vector<Array> values{x, 1.1 - x, x * x};
      for (int i = 0; i < 60; ++i) {
        const Array a = values[values.size() - 1 - random() % 3],
                    b = values[random() % values.size()];
        switch (random() % 5) {
          case 0:
            values.push_back(a * b + x);
            break;
          case 1:
            values.push_back(a * 0.7 - b * x);
            break;
          case 2:
            values.push_back(sin(a) + b);
            break;
          case 3:
            values.push_back(a / (1 + abs(b)));
            break;
          default:
            values.push_back(exp(-abs(a)) * b);
        }
      }
      return values.back();
    };
    std::vector<float> x;
    for (int i = 0; i < 17; ++i) x.push_back(0.1F + 0.1F * static_cast<float>(i));
    const std::vector<float> together = floats(jit(f)(from_host(x)));
    const auto alone = jit(f);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(floats(alone(from_host(std::vector<float>{x[i]})))[0], together[i]) << seed;
      EXPECT_EQ(floats(alone(reshape(from_host(std::vector<float>{x[i]}), {})))[0], together[i])
          << seed;
    }
  }
}

}  // namespace
}  // namespace tessera::operators_test
