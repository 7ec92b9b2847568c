// lgamma and digamma of float64, and other functions that were made for it, where a sweep
// (math_test.cc) does not look: near zeros and poles, at the borders of their formulas, and at
// exact results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernel_builder.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen::test::math_gamma_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Calls expect(x, f(x)) for the function compiled for every instruction set.
template <class T, class F>
void for_each_result(ScalarOp op, std::vector<T> x, F expect) {
  x.resize((x.size() + 15) / 16 * 16, x.back());
  const auto n = static_cast<int64_t>(x.size());
  KernelMaker m;
  const int in = m.buffer(dtype_of<T>, n), out = m.buffer(dtype_of<T>, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  m.store(out, {0, {1}, {}}, m.op(op, dtype_of<T>, {m.load(in, {0, {1}, {}})}));
  for (KernelCompiler* compiler : compilers()) {
    std::vector<T> y(x.size());
    void* buffers[] = {x.data(), y.data()};
    compiler->compile(m.k)(buffers, 0, n);
    for (size_t i = 0; i < x.size(); ++i) expect(x[i], y[i]);
  }
}

long double lgamma_of(long double x) {
  int sign;
  return lgammal_r(x, &sign);
}

TEST(Lgamma, HasItsZeros) {
  for_each_result(ScalarOp::kLgamma, std::vector<double>{1, 2},
                  [](double x, double y) { EXPECT_EQ(y, 0) << x; });
  for_each_result(ScalarOp::kLgamma, std::vector<float>{1, 2},
                  [](float x, float y) { EXPECT_EQ(y, 0) << x; });
}

// All digits are right near the zeros, not only those of a number near 1.
TEST(Lgamma, IsAccurateNearItsZeros) {
  std::vector<double> x;
  for (const double zero : {1.0, 2.0, -2.4570247382208007, -2.7476826467274122, -3.1435808883499798,
                            -3.9552942848585979, -5.0082181683225934, -9.9999972442663463})
    for (int e = 2; e < 53; ++e)
      for (const double sign : {-1, 1}) x.push_back(zero + sign * std::ldexp(1.0, -e));
  for_each_result(ScalarOp::kLgamma, x, [](double given, double y) {
    const long double want = lgamma_of(given);
    // Near negative zeros the result is the C library's.
    EXPECT_LE(std::abs(y - want), std::abs(want) * 8e-16) << given;
  });
}

TEST(Lgamma, PolesAndTheLargestNumbers) {
  for_each_result(ScalarOp::kLgamma,
                  std::vector<double>{0.0, -0.0, -1, -2, -1e10, -0x1p52, -1e300, -kInfinity,
                                      kInfinity, 2.57e305, 1e308},
                  [](double x, double y) { EXPECT_EQ(y, kInfinity) << x; });
  for_each_result(ScalarOp::kLgamma, std::vector<double>{2.5599e305, 1e305, 2.553e305},
                  [](double x, double y) {
                    EXPECT_NEAR(y, static_cast<double>(lgamma_of(x)), 1e-15 * y) << x;
                  });
  for_each_result(
      ScalarOp::kLgamma, std::vector<double>{5e-324, -5e-324, 1e-310, -1e-300, -1e-18},
      [](double x, double y) { EXPECT_NEAR(y, static_cast<double>(lgamma_of(x)), 1e-13) << x; });
}

// The numbers on both sides of those at which another formula begins.
TEST(Lgamma, BordersOfFormulas) {
  std::vector<double> x;
  for (const double border : {0.5, 1.0, 1.5, 2.0, 2.5, 3.5, 4.5, 5.5, 0x1p-60, 0x1p-54})
    for (const double to : {0.0, kInfinity})
      for (const double sign : {-1, 1})
        x.push_back(sign * std::nextafter(border, to)), x.push_back(sign * border);
  for_each_result(ScalarOp::kLgamma, x, [](double given, double y) {
    const long double want = lgamma_of(given);
    if (std::isinf(want))
      EXPECT_EQ(y, want) << given;
    else
      EXPECT_LE(std::abs(y - want), std::max(std::abs(want), 1e-3L) * 6e-16) << given;
  });
}

TEST(Digamma, PolesAndZeros) {
  for_each_result(ScalarOp::kDigamma, std::vector<double>{-1, -2, -1e10, -1e300, -kInfinity},
                  [](double x, double y) { EXPECT_TRUE(std::isnan(y)) << x; });
  for_each_result(ScalarOp::kDigamma, std::vector<double>{0.0, -0.0, 5e-324, -5e-324},
                  [](double x, double y) { EXPECT_EQ(y, -kInfinity * std::copysign(1, x)); });
  for_each_result(ScalarOp::kDigamma, std::vector<double>{kInfinity},
                  [](double, double y) { EXPECT_EQ(y, kInfinity); });
  // The zero is at 1.4616321449683622 + 9.55e-17, where the slope is 0.9676722454476212.
  for_each_result(ScalarOp::kDigamma, std::vector<double>{1.4616321449683622, 1.4616321449683625},
                  [](double x, double y) {
                    const double want =
                        ((x - 1.4616321449683622) - 9.549995429965697e-17) * 0.9676722454476212;
                    EXPECT_NEAR(y, want, 1e-15 * std::abs(want)) << x;
                  });
}

// 1, 1/2, 1/3, ... are the differences of neighbouring values, also across the borders of formulas.
TEST(Digamma, FollowsItsRecurrence) {
  constexpr double kEuler = 0.57721566490153286061;
  std::vector<double> x;
  for (int n = 1; n < 40; ++n) x.push_back(n);
  for_each_result(ScalarOp::kDigamma, x, [](double n, double y) {
    long double sum = -kEuler;
    for (int k = 1; k < n; ++k) sum += 1.0L / k;
    EXPECT_NEAR(y, static_cast<double>(sum), 1e-15) << n;
  });
}

TEST(Cbrt, OfCubesIsExact) {
  std::vector<double> x;
  for (int64_t n = 1; n < 200000; n += 7) x.push_back(static_cast<double>(n) * n * n);
  for (int e = -357; e < 341; ++e) x.push_back(std::ldexp(27.0, 3 * e));
  for (size_t i = 0, n = x.size(); i < n; ++i) x.push_back(-x[i]);
  for_each_result(ScalarOp::kCbrt, x, [](double given, double y) {
    EXPECT_EQ(y, static_cast<double>(std::cbrt(static_cast<long double>(given)))) << given;
  });
}

TEST(Cbrt, OfDenormalNumbersAndOthersWithoutCube) {
  std::vector<double> x = {5e-324,   -5e-324, 1e-310,   -3e-320,
                           2.2e-308, 1.7e308, 0x1p-900, 0x1p-1022};
  for_each_result(ScalarOp::kCbrt, x, [](double given, double y) {
    const long double want = std::cbrt(static_cast<long double>(given));
    EXPECT_LE(std::abs(y - want), std::abs(want) * 1.2e-16L) << given;
  });
  for_each_result(ScalarOp::kCbrt, std::vector<double>{0.0, -0.0, kInfinity, -kInfinity},
                  [](double given, double y) {
                    EXPECT_EQ(y, given);
                    EXPECT_EQ(std::signbit(y), std::signbit(given));
                  });
}

// The numbers next to multiples of pi/2, with angles on both sides of the fast reduction's limit.
TEST(Tan, NearItsZerosAndPoles) {
  constexpr long double kHalfPi = 1.57079632679489661923132169163975144L;
  std::vector<double> x;
  std::mt19937_64 random(3);
  for (int e = 0; e < 40; ++e)
    for (int i = 0; i < 50; ++i) {
      const auto n = static_cast<long double>((uint64_t{1} << e) + random() % (uint64_t{1} << e));
      const auto near = static_cast<double>(n * kHalfPi);
      for (const double sign : {-1, 1}) {
        x.push_back(sign * near);
        x.push_back(sign * std::nextafter(near, 0));
      }
    }
  for (const double v : {1e22, 1e300, 0x1p28, 0x1p28 - 0x1p-25}) x.push_back(v), x.push_back(-v);
  for_each_result(ScalarOp::kTan, x, [](double given, double y) {
    const long double want = std::tan(static_cast<long double>(given));
    EXPECT_LE(std::abs(y - want), std::abs(want) * 2.2e-16L) << given;
  });
}

}  // namespace
}  // namespace tessera::codegen::test::math_gamma_test
