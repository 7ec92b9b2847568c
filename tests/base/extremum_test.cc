#include "tessera/base/extremum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tessera::extremum_test {
namespace {

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> out;
  for (const T x : {T{0}, Limits::denorm_min(), Limits::min(), T{1}, T{1.5}, Limits::max(),
                    Limits::infinity(), Limits::quiet_NaN()}) {
    out.push_back(x);
    out.push_back(-x);
  }
  return out;
}

template <class T>
class Extremum : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Extremum, Floats);

// Returns the smaller one in the order in which -0 is before 0.
template <class T>
T smaller(T a, T b) {
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

TYPED_TEST(Extremum, NaNStaysAndZerosAreInOrder) {
  for (const TypeParam a : special_values<TypeParam>())
    for (const TypeParam b : special_values<TypeParam>()) {
      const TypeParam low = ieee_minimum(a, b), high = ieee_maximum(a, b);
      if (std::isnan(a) || std::isnan(b)) {
        EXPECT_TRUE(std::isnan(low) && std::isnan(high)) << a << " " << b;
        continue;
      }
      const TypeParam least = smaller(a, b), most = -smaller(-a, -b);
      EXPECT_EQ(std::bit_cast<BitsOf<TypeParam>>(low), std::bit_cast<BitsOf<TypeParam>>(least))
          << a << " " << b;
      EXPECT_EQ(std::bit_cast<BitsOf<TypeParam>>(high), std::bit_cast<BitsOf<TypeParam>>(most))
          << a << " " << b;
    }
}

// The order of the operands does not change a bit, not even of a NaN.
TYPED_TEST(Extremum, OperandsMayBeSwapped) {
  for (const TypeParam a : special_values<TypeParam>())
    for (const TypeParam b : special_values<TypeParam>()) {
      EXPECT_EQ(std::bit_cast<BitsOf<TypeParam>>(ieee_minimum(a, b)),
                std::bit_cast<BitsOf<TypeParam>>(ieee_minimum(b, a)));
      EXPECT_EQ(std::bit_cast<BitsOf<TypeParam>>(ieee_maximum(a, b)),
                std::bit_cast<BitsOf<TypeParam>>(ieee_maximum(b, a)));
    }
}

}  // namespace
}  // namespace tessera::extremum_test
