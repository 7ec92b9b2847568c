#include "tessera/numpy/operators.h"

#include <gtest/gtest.h>

#include "run.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/reduce.h"

namespace tessera {
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
  // The number is an argument, not a part of the program: nothing is compiled anew.
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
    const testing::X64 x64(true);
    EXPECT_EQ(count_nonzero(x).dtype(), int64);
    EXPECT_EQ(fabs(x).dtype(), float32);
  }
  EXPECT_EQ(abs(x).dtype(), int32);
  EXPECT_EQ(count_nonzero(x).dtype(), int32);
}

}  // namespace
}  // namespace tessera
