// Logarithms at the ends of the intervals of their mantissas and where they have no finite value:
// AVX-512 takes exponents and mantissas by instructions, and AVX2 from the bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernel_builder.h"
#include "tessera/base/namespaces.h"

namespace tessera::codegen::test::exponent_test {
namespace {

// Numbers next to 3/4 and 3/2 times every power of two, and to that minus 1, and the special ones.
template <class T>
std::vector<T> operands() {
  using L = std::numeric_limits<T>;
  std::vector<T> x = {T(0),
                      -T(0),
                      L::infinity(),
                      -L::infinity(),
                      L::quiet_NaN(),
                      -L::quiet_NaN(),
                      L::denorm_min(),
                      -L::denorm_min(),
                      L::min(),
                      -L::min(),
                      L::max(),
                      L::lowest(),
                      T(1),
                      T(-1),
                      T(-1.5),
                      -L::epsilon() / 8,
                      L::epsilon(),
                      L::epsilon() / 2,
                      L::epsilon() / 8};
  for (int e = L::min_exponent - L::digits; e < L::max_exponent; ++e)
    for (double m : {0.75, 1.0, 1.4}) {
      const T middle = std::ldexp(static_cast<T>(m), e);
      for (T v : {std::nextafter(middle, T(0)), middle, std::nextafter(middle, L::infinity())})
        for (T w : {v, T(v - 1), T(-v)}) x.push_back(w);
    }
  return x;
}

template <class T>
void check_logarithm(ScalarOp op, long double (*reference)(long double)) {
  const std::vector<T> x = operands<T>();
  const auto n = static_cast<int64_t>(x.size());
  std::vector<std::vector<T>> results;
  for (KernelCompiler* compiler : compilers()) {
    std::vector<T>& y = results.emplace_back(x.size());
    void* buffers[] = {const_cast<T*>(x.data()), y.data()};
    compiler->compile(function_of(op, dtype_of<T>, n))(buffers, 0, n);
    for (size_t i = 0; i < x.size(); ++i) {
      const long double want = reference(x[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(y[i])) << x[i] << ": " << y[i];
        continue;
      }
      EXPECT_EQ(std::signbit(y[i]), std::signbit(want)) << x[i] << ": " << y[i];
      if (std::isinf(want) || want == 0) {
        EXPECT_EQ(y[i], want) << x[i];
        continue;
      }
      const long double unit =
          std::max<long double>(std::fabs(want), std::numeric_limits<T>::min()) *
          std::numeric_limits<T>::epsilon();
      EXPECT_LE(std::fabs(y[i] - want), unit) << x[i] << ": " << y[i];
    }
  }
  for (const std::vector<T>& y : results)
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(std::memcmp(&y[i], &results[0][i], sizeof(T)), 0)
          << x[i] << ": " << y[i] << " and " << results[0][i];
}

long double log_of(long double x) { return std::log(x); }
long double log1p_of(long double x) { return std::log1p(x); }

TEST(Exponents, LogFloat32) { check_logarithm<float>(ScalarOp::kLog, log_of); }
TEST(Exponents, LogFloat64) { check_logarithm<double>(ScalarOp::kLog, log_of); }
TEST(Exponents, Log1pFloat32) { check_logarithm<float>(ScalarOp::kLog1p, log1p_of); }
TEST(Exponents, Log1pFloat64) { check_logarithm<double>(ScalarOp::kLog1p, log1p_of); }

// A routine's vectors and those of float64 in kernels of float32 have other widths than a register.
TEST(Exponents, OfEveryWidth) {
  for (int64_t n : {1, 3, 16, 40})
    for (ScalarOp op : {ScalarOp::kLog, ScalarOp::kAsinh, ScalarOp::kLgamma})
      for (DType dtype : {float32, float64}) check(function_of(op, dtype, n), tolerance_of(dtype));
}

}  // namespace
}  // namespace tessera::codegen::test::exponent_test
