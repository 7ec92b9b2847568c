// Tests of exp_low, expm1_low, sin_low and cos_low, the rounding errors of exp, expm1, sin and cos.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernel_builder.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen::test::low_parts_test {
namespace {

struct Case {
  ScalarOp function, low;
  long double (*reference)(long double);
  double largest;  // the largest argument
};
const Case kCases[] = {
    {ScalarOp::kExp, ScalarOp::kExpLow, expl, 50},
    {ScalarOp::kExpm1, ScalarOp::kExpm1Low, expm1l, 80},
    {ScalarOp::kSin, ScalarOp::kSinLow, sinl, 1e5},
    {ScalarOp::kCos, ScalarOp::kCosLow, cosl, 1e5},
};

// Returns the kernel y = function(x), z = low(x).
Kernel both(const Case& c, DType dtype, int64_t n) {
  KernelMaker m;
  const int x = m.buffer(dtype, n), y = m.buffer(dtype, n, BufferKind::kOutput),
            z = m.buffer(dtype, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  const int load = m.load(x, {0, {1}, {}});
  m.store(y, {0, {1}, {}}, m.op(c.function, dtype, {load}));
  m.store(z, {0, {1}, {}}, m.op(c.low, dtype, {load}));
  return m.k;
}

// Returns the largest distance of function(x) + low(x) from the exact value, in units in the last
// place of the function.
template <class T>
double worst_error(const Case& c, const std::vector<T>& x) {
  const int64_t n = static_cast<int64_t>(x.size());
  double worst = 0;
  for (KernelCompiler* compiler : compilers()) {
    std::vector<T> y(x.size()), z(x.size());
    void* buffers[] = {const_cast<T*>(x.data()), y.data(), z.data()};
    compiler->compile(both(c, dtype_of<T>, n))(buffers, 0, n);
    for (size_t i = 0; i < x.size(); ++i) {
      const long double want = c.reference(x[i]);
      int exponent;
      std::frexp(want, &exponent);
      const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
      const long double got = static_cast<long double>(y[i]) + z[i];
      worst = std::max(worst, static_cast<double>(std::fabs(got - want) / unit));
    }
  }
  return worst;
}

template <class T>
std::vector<T> arguments(double largest) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(std::log(1e-8), std::log(largest));
  std::vector<T> x = {T(0.25), T(-0.5)};
  for (int i = 0; i < 20000; ++i)
    x.push_back(static_cast<T>(std::exp(exponent(random)) * (i % 2 ? 1 : -1)));
  return x;
}

class LowParts : public ::testing::TestWithParam<Case> {};
TEST_P(LowParts, CompleteTheFunctionOfFloat64) {
  const Case& c = GetParam();
  EXPECT_LE(worst_error(c, arguments<double>(c.largest)),
            c.function == ScalarOp::kExpm1 ? 0.35 : 0.25);
}
TEST_P(LowParts, CompleteTheFunctionOfFloat32) {
  const Case& c = GetParam();
  EXPECT_LE(worst_error(c, arguments<float>(c.largest)), 1e-6);
}
INSTANTIATE_TEST_SUITE_P(All, LowParts, ::testing::ValuesIn(kCases), [](const auto& info) {
  return std::string(scalar_op_name(info.param.low));
});

// Sines of large angles are computed by C's library, and their errors are not known.
TEST(LowPartsOfLargeAngles, AreZero) {
  const std::vector<double> x = {0x1p28, 1e10, -1e300};
  std::vector<double> y(x.size()), z(x.size(), 1);
  void* buffers[] = {const_cast<double*>(x.data()), y.data(), z.data()};
  KernelCompiler::process().compile(both(kCases[2], float64, 3))(buffers, 0, 3);
  EXPECT_EQ(z, std::vector<double>(3, 0.0));
}

}  // namespace
}  // namespace tessera::codegen::test::low_parts_test
