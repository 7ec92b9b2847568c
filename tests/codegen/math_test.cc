// Accuracy of the elementary functions against libm in long double.
//
// By default each function is tested at some hundred thousand arguments, from every binade.
// TESSERA_FULL_SWEEP="sin exp ..." tests those functions at all 2^32 float32 arguments and prints
// the largest error. TESSERA_PRINT_ULP=1 prints the largest error of every sweep, from which
// scripts/ulps makes the table of docs/performance.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string_view>

#include "kernel_builder.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen::test::math_test {
namespace {

using Real = long double;
constexpr Real kPi = 3.14159265358979323846264338327950288L;

Real logistic(Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
Real rsqrt(Real x) { return 1 / std::sqrt(x); }
Real lgamma_any(Real x) {
  int sign;
  return lgammal_r(x, &sign);
}
Real digamma(Real x) {
  if (x == 0) return -1 / x;  // an infinity, as in SciPy
  if (std::isnan(x) || x == -INFINITY || (x <= 0 && x == std::floor(x))) return NAN;
  if (x == INFINITY) return x;
  if (x < 0.5L) {
    Real f = std::fabs(x) - std::floor(std::fabs(x));
    if (f > 0.5L) f -= 1;
    return digamma(1 - x) - std::copysign(kPi, x) / std::tan(kPi * f);
  }
  Real shift = 0;
  for (; x < 25; x += 1) shift += 1 / x;
  const Real t = 1 / (x * x);
  return std::log(x) - 0.5L / x - shift -
         t * (1.L / 12 -
              t * (1.L / 120 -
                   t * (1.L / 252 -
                        t * (1.L / 240 - t * (1.L / 132 - t * (691.L / 32760 - t / 12))))));
}
// Returns what JAX computes for erf_inv: Giles's polynomials in w = -log(1 - x^2), with the square
// rounded to float32. Its distance from the true inverse (up to about 64 ulp near 1) is part of the
// definition.
Real giles(Real x) {
  const Real u = 1 - static_cast<float>(x * x);
  if (!(u > 0))
    return u == 0 ? std::copysign(static_cast<Real>(INFINITY), x) : static_cast<Real>(NAN);
  static const float kCentral[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                                   -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                                   -0.00417768164f,  0.246640727f,    1.50140941f};
  static const float kTail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                                -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                                0.00943887047f,   1.00167406f,     2.83297682f};
  const Real w = -std::log(u);
  const bool central = w < 5;
  const Real t = central ? w - 2.5L : std::sqrt(w) - 3;
  Real p = 0;
  for (float c : central ? kCentral : kTail) p = p * t + c;
  return p * x;
}
// Returns the true inverse of erf, by Newton's method from a rough guess.
Real erf_inv(Real x) {
  const Real a = std::fabs(x);
  if (!(a <= 1)) return NAN;
  if (a == 1) return std::copysign(INFINITY, x);
  Real y = a < 0.9L ? a * 0.886L : std::sqrt(-std::log((1 - a) * 1.77L));
  for (int i = 0; i < 50; ++i) {
    const Real error = a < 0.5L ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const Real step = error * 0.88622692545275801364908374167L * std::exp(y * y);
    const Real halley = step / (1 + y * step);
    y -= halley;
    if (std::fabs(halley) <= 1e-18L * std::fabs(y)) break;
  }
  return std::copysign(y, x);
}

struct Function {
  ScalarOp op;
  Real (*reference)(Real);
  double f32_ulp;
  double f64_ulp;
  bool f64_floor = false;
};
#define TESSERA_REF(f) [](Real x) -> Real { return f(x); }
const Function kFunctions[] = {
    {ScalarOp::kSqrt, TESSERA_REF(std::sqrt), 0.5001, 0.5001},
    {ScalarOp::kRsqrt, TESSERA_REF(rsqrt), 1.5, 1.5},
    {ScalarOp::kCbrt, TESSERA_REF(std::cbrt), 2, 1},
    {ScalarOp::kExp, TESSERA_REF(std::exp), 2, 4},
    {ScalarOp::kExpm1, TESSERA_REF(std::expm1), 2, 4},
    {ScalarOp::kLog, TESSERA_REF(std::log), 1, 1},
    {ScalarOp::kLog1p, TESSERA_REF(std::log1p), 1, 1},
    {ScalarOp::kSin, TESSERA_REF(std::sin), 2, 4},
    {ScalarOp::kCos, TESSERA_REF(std::cos), 2, 4},
    {ScalarOp::kTan, TESSERA_REF(std::tan), 2, 1},
    {ScalarOp::kAsin, TESSERA_REF(std::asin), 2, 4},
    {ScalarOp::kAcos, TESSERA_REF(std::acos), 2, 4},
    {ScalarOp::kAtan, TESSERA_REF(std::atan), 2, 4},
    {ScalarOp::kSinh, TESSERA_REF(std::sinh), 2, 4},
    {ScalarOp::kCosh, TESSERA_REF(std::cosh), 2, 4},
    {ScalarOp::kTanh, TESSERA_REF(std::tanh), 2, 2},
    {ScalarOp::kAsinh, TESSERA_REF(std::asinh), 0.55, 2},
    {ScalarOp::kAcosh, TESSERA_REF(std::acosh), 0.55, 2},
    {ScalarOp::kAtanh, TESSERA_REF(std::atanh), 0.55, 1.5},
    {ScalarOp::kLogistic, TESSERA_REF(logistic), 2, 4},
    {ScalarOp::kErf, TESSERA_REF(std::erf), 2, 2},
    {ScalarOp::kErfc, TESSERA_REF(std::erfc), 0.55, 2},
    {ScalarOp::kLgamma, TESSERA_REF(lgamma_any), 2, 3, true},
    {ScalarOp::kDigamma, TESSERA_REF(digamma), 2, 16, true},
};
#undef TESSERA_REF

Kernel unary(ScalarOp op, DType dtype, int64_t n) {
  KernelMaker m;
  const int x = m.buffer(dtype, n), y = m.buffer(dtype, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  m.store(y, {0, {1}, {}}, m.op(op, dtype, {m.load(x, {0, {1}, {}})}));
  return m.k;
}

// Returns the distance of `got` from `want`, in units of the last place of T at `want`.
template <class T>
double ulp_error(T got, Real want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e30;
  // A result that rounds to infinity may be infinity, which is one unit from the largest number.
  const Real limit = std::numeric_limits<T>::max();
  if (std::isinf(got) || std::fabs(want) > limit) {
    if (got == want) return 0;
    const Real unit =
        std::ldexp(Real{1}, std::numeric_limits<T>::max_exponent - std::numeric_limits<T>::digits);
    const Real g = std::isinf(got) ? std::copysign(limit + unit, static_cast<Real>(got))
                                   : static_cast<Real>(got);
    const Real w = std::fabs(want) > limit + unit ? std::copysign(limit + unit, want) : want;
    return static_cast<double>(std::fabs(g - w) / unit);
  }
  int exponent;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const Real unit = std::ldexp(Real{1}, exponent - std::numeric_limits<T>::digits);
  if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got) ? 0 : 1e30;
  return static_cast<double>(std::fabs(got - want) / unit);
}

template <class T>
std::vector<T> samples() {
  using L = std::numeric_limits<T>;
  std::vector<T> x = {T(0),
                      -T(0),
                      L::infinity(),
                      -L::infinity(),
                      L::quiet_NaN(),
                      L::denorm_min(),
                      -L::denorm_min(),
                      L::min(),
                      -L::min(),
                      L::max(),
                      L::lowest(),
                      T(1),
                      T(-1),
                      std::nextafter(T(1), T(0)),
                      std::nextafter(T(1), T(2)),
                      std::nextafter(T(-1), T(0)),
                      T(88.72283),
                      T(-87.33655),
                      T(-103.97),
                      T(709.782712893384),
                      T(-745.1332191019411),
                      T(131071.9),
                      T(131072),
                      T(1e30)};
  for (int i = -60; i < 60; ++i) x.push_back(T(i) / 4);  // poles of lgamma, multiples of one half
  for (int i = -300; i < 300; ++i) x.push_back(static_cast<T>(i * kPi / 2));
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  const int first = L::min_exponent - L::digits, last = L::max_exponent;
  const int each = (sizeof(T) == 4 ? 400000 : 100000) / (last - first);
  for (int e = first; e < last; ++e) {
    const int count = e > -10 && e < 8 ? 6 * each + 2000 : each + 4;
    for (int i = 0; i < count; ++i) {
      const T v = static_cast<T>(std::ldexp(1 + unit(random), e));
      x.push_back(random() % 2 ? v : -v);
    }
  }
  return x;
}

void print_ulp(std::string_view name, size_t bits, double worst) {
  if (std::getenv("TESSERA_PRINT_ULP"))
    std::printf("%-16s f%zu %.3f ulp\n", std::string(name).c_str(), bits, worst);
}

// Compares a kernel of one operand and one result with `reference` at samples.
template <class T>
void sweep(const Function& f, double limit, std::string_view name = {},
           Kernel (*make)(ScalarOp, DType, int64_t) = unary) {
  if (name.empty()) name = scalar_op_name(f.op);
  const std::vector<T> x = samples<T>();
  const int64_t n = static_cast<int64_t>(x.size());
  std::vector<Real> want(x.size());
  for (size_t i = 0; i < x.size(); ++i) want[i] = f.reference(x[i]);
  for (KernelCompiler* compiler : compilers()) {
    const KernelCode fn = compiler->compile(make(f.op, dtype_of<T>, n));
    std::vector<T> y(x.size());
    void* buffers[] = {const_cast<T*>(x.data()), y.data()};
    fn(buffers, 0, n);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double error = ulp_error(y[i], want[i]);
      // Near the zeros of these functions no fixed number of digits is left, so the error is
      // measured relative to 1.
      if (sizeof(T) == 8 && f.f64_floor && std::fabs(want[i]) < 1) {
        error = static_cast<double>(std::fabs(y[i] - want[i])) / std::numeric_limits<T>::epsilon();
      }
      if (error > worst) {
        worst = error;
        at = i;
      }
    }
    print_ulp(name, sizeof(T) * 8, worst);
    EXPECT_LE(worst, limit) << name << "(" << x[at] << ") = " << y[at] << ", expected "
                            << static_cast<double>(want[at]);
  }
}

TEST(ErfInv, Float32IsGiles) { sweep<float>({ScalarOp::kErfInv, giles, 0, 0}, 3); }
TEST(ErfInv, Float32IsTheInverseButForGiles) {
  sweep<float>({ScalarOp::kErfInv, erf_inv, 0, 0}, 70, "erf_inv (true)");
}
TEST(ErfInv, Float64) { sweep<double>({ScalarOp::kErfInv, erf_inv, 0, 0}, 4); }

// Returns a kernel of 2^x as a power of the constant 2.
Kernel power_of_two(ScalarOp op, DType dtype, int64_t n) {
  KernelMaker m;
  const int x = m.buffer(dtype, n), y = m.buffer(dtype, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  m.store(y, {0, {1}, {}}, m.op(op, dtype, {m.number(dtype, 2), m.load(x, {0, {1}, {}})}));
  return m.k;
}
Real exp2(Real x) { return std::exp2(x); }
TEST(PowersOfTwo, AccuracyFloat32) {
  sweep<float>({ScalarOp::kPow, exp2, 0, 0}, 1, "exp2", power_of_two);
}
TEST(PowersOfTwo, AccuracyFloat64) {
  sweep<double>({ScalarOp::kPow, exp2, 0, 0}, 1, "exp2", power_of_two);
}
TEST(PowersOfTwo, AreExactForIntegers) {
  std::vector<double> x;
  for (int n = -1080; n < 1030; ++n) x.push_back(n);
  const int64_t count = static_cast<int64_t>(x.size());
  for (KernelCompiler* compiler : compilers()) {
    std::vector<double> y(x.size());
    void* buffers[] = {x.data(), y.data()};
    compiler->compile(power_of_two(ScalarOp::kPow, float64, count))(buffers, 0, count);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], std::exp2(x[i])) << x[i];
  }
}

// Powers with constant exponents, at the arguments at which a root or a product might differ.
template <class T>
void check_constant_exponents(DType dtype) {
  constexpr T kMost = std::numeric_limits<T>::max(), kInfinite = std::numeric_limits<T>::infinity(),
              kLeast = std::numeric_limits<T>::denorm_min();
  const std::vector<T> x = {T(0),     T(-0.0),   1,          -1,
                            2,        T(-2.5),   T(0.3),     T(-0.3),
                            T(1e-30), kLeast,    -kLeast,    kMost,
                            -kMost,   kInfinite, -kInfinite, std::numeric_limits<T>::quiet_NaN()};
  const auto count = static_cast<int64_t>(x.size());
  for (const double exponent : {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -0.5}) {
    KernelMaker m;
    const int in = m.buffer(dtype, count), out = m.buffer(dtype, count, BufferKind::kOutput);
    m.k.parallel = {count};
    m.loop({});
    m.store(out, {0, {1}, {}},
            m.op(ScalarOp::kPow, dtype, {m.load(in, {0, {1}, {}}), m.number(dtype, exponent)}));
    for (KernelCompiler* compiler : compilers()) {
      std::vector<T> y(x.size());
      void* buffers[] = {const_cast<T*>(x.data()), y.data()};
      compiler->compile(m.k)(buffers, 0, count);
      for (size_t i = 0; i < x.size(); ++i) {
        const T expected = std::pow(x[i], static_cast<T>(exponent));
        EXPECT_EQ(std::isnan(y[i]), std::isnan(expected)) << x[i] << " ** " << exponent;
        if (std::isnan(expected)) continue;
        EXPECT_EQ(std::signbit(y[i]), std::signbit(expected)) << x[i] << " ** " << exponent;
        EXPECT_TRUE(y[i] == expected || std::abs(y[i] - expected) <=
                                            std::abs(expected) * std::numeric_limits<T>::epsilon())
            << x[i] << " ** " << exponent << ": " << y[i] << " and " << expected;
      }
    }
  }
}
TEST(Powers, OfConstantExponents) {
  check_constant_exponents<float>(float32);
  check_constant_exponents<double>(float64);
}

Kernel binary(ScalarOp op, DType dtype, int64_t n) {
  KernelMaker m;
  const int x = m.buffer(dtype, n), y = m.buffer(dtype, n),
            z = m.buffer(dtype, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  m.store(z, {0, {1}, {}}, m.op(op, dtype, {m.load(x, {0, {1}, {}}), m.load(y, {0, {1}, {}})}));
  return m.k;
}

// Compares with `reference` at pairs for which the quotient, or the power, is rarely 0 or infinite.
template <class T>
void sweep_pairs(ScalarOp op, Real (*reference)(Real, Real), double limit) {
  constexpr int64_t kCount = 400000;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<T> x(kCount), y(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    if (op == ScalarOp::kPow) {
      x[i] = static_cast<T>(std::exp2(std::numeric_limits<T>::max_exponent * unit(random)));
      const double most = std::numeric_limits<T>::max_exponent / std::fabs(std::log2(x[i]));
      y[i] = static_cast<T>(std::min(most, 1e4) * unit(random));
    } else {
      const double exponent = 20 * unit(random);
      x[i] = static_cast<T>(std::ldexp(unit(random), static_cast<int>(exponent)));
      y[i] = static_cast<T>(unit(random));
    }
  }
  for (KernelCompiler* compiler : compilers()) {
    const KernelCode fn = compiler->compile(binary(op, dtype_of<T>, kCount));
    std::vector<T> z(kCount);
    void* buffers[] = {x.data(), y.data(), z.data()};
    fn(buffers, 0, kCount);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = ulp_error(z[i], reference(x[i], y[i]));
      if (error > worst) {
        worst = error;
        at = i;
      }
    }
    print_ulp(scalar_op_name(op), sizeof(T) * 8, worst);
    EXPECT_LE(worst, limit) << scalar_op_name(op) << "(" << x[at] << ", " << y[at]
                            << ") = " << z[at];
  }
}
Real power(Real x, Real y) { return std::pow(x, y); }
Real angle(Real y, Real x) { return std::atan2(y, x); }

// Compares powers of float64 with long double; the results may differ by at most `limit` units in
// the last place.
void check_powers(std::vector<double> x, std::vector<double> y, double limit) {
  const int64_t n = static_cast<int64_t>(x.size());
  for (KernelCompiler* compiler : compilers()) {
    std::vector<double> z(x.size());
    void* buffers[] = {x.data(), y.data(), z.data()};
    compiler->compile(binary(ScalarOp::kPow, float64, n))(buffers, 0, n);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(ulp_error(z[i], power(x[i], y[i])), limit)
          << x[i] << " ** " << y[i] << " = " << z[i];
  }
}

TEST(Pairs, PowFloat32) { sweep_pairs<float>(ScalarOp::kPow, power, 0.55); }
TEST(Pairs, PowFloat64) { sweep_pairs<double>(ScalarOp::kPow, power, 1); }
// Powers that float64 can represent must be exact.
TEST(Pairs, PowFloat64OfIntegers) {
  std::vector<double> x, y;
  for (int base = -1000; base <= 1000; ++base) {
    for (double p = base, exponent = 1; std::fabs(p) < 0x1p53 && exponent < 60;
         p *= base, ++exponent) {
      x.push_back(base);
      y.push_back(exponent);
    }
  }
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    x.push_back(2);
    y.push_back(exponent);
  }
  for (int base = 1; base < 2000; ++base) {
    x.push_back(static_cast<double>(base) * base);
    y.push_back(1.5);
  }
  check_powers(x, y, 0);
}
// Bases near 1 with large exponents, where the logarithm needs all its digits, and tiny ones.
TEST(Pairs, PowFloat64NearOneAndDenormal) {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<double> x, y;
  for (int i = 0; i < 100000; ++i) {
    x.push_back(1 + std::ldexp(unit(random), -1 - i % 51));
    if (x.back() == 1) x.back() = std::nextafter(1.0, 2.0);
    y.push_back(740 * unit(random) / std::log(x.back()));
    x.push_back(std::ldexp(1 + unit(random), -1023 - i % 50));
    y.push_back(unit(random));
  }
  check_powers(x, y, 1);
}
TEST(Pairs, Atan2Float32) { sweep_pairs<float>(ScalarOp::kAtan2, angle, 2); }
TEST(Pairs, Atan2Float64) { sweep_pairs<double>(ScalarOp::kAtan2, angle, 2); }
// Tests every pair of numbers of very different magnitudes, with zeros and infinities of both
// signs.
TEST(Pairs, Atan2Float64OfAllMagnitudes) {
  constexpr double kDenormal = std::numeric_limits<double>::denorm_min(),
                   kLargest = std::numeric_limits<double>::max(),
                   kInfinity = std::numeric_limits<double>::infinity();
  const double sizes[] = {0,        kDenormal, 2 * kDenormal, 3 * kDenormal, 0x1p-1022,  0x1p-1000,
                          0x1p-899, 1,         0.41421356,    0x1p999,       0x1.8p1000, 0x1.9p1000,
                          0x1p1023, kLargest,  kInfinity,     std::nan("")};
  std::vector<double> y, x;
  for (double first : sizes)
    for (double second : sizes)
      for (int signs = 0; signs < 4; ++signs) {
        y.push_back(signs % 2 ? -first : first);
        x.push_back(signs / 2 ? -second : second);
      }
  const auto n = static_cast<int64_t>(x.size());
  for (KernelCompiler* compiler : compilers()) {
    std::vector<double> z(x.size());
    void* buffers[] = {y.data(), x.data(), z.data()};
    compiler->compile(binary(ScalarOp::kAtan2, float64, n))(buffers, 0, n);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(ulp_error(z[i], angle(y[i], x[i])), 1) << y[i] << ", " << x[i] << ": " << z[i];
  }
}

// A sum of approximations may miss a zero by its last bits, which no tolerance of ulps says.
TEST(Zeros, OfLgamma) {
  const KernelCode fn = KernelCompiler::process().compile(unary(ScalarOp::kLgamma, float32, 16));
  std::vector<float> x(16), y(16);
  for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(1 + i % 2);
  void* buffers[] = {x.data(), y.data()};
  fn(buffers, 0, 16);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(y[i], 0) << x[i];
}

TEST(FullSweep, Float32) {
  const char* wanted = std::getenv("TESSERA_FULL_SWEEP");
  if (!wanted) GTEST_SKIP() << "TESSERA_FULL_SWEEP is not set";
  std::vector<Function> functions(std::begin(kFunctions), std::end(kFunctions));
  functions.push_back({ScalarOp::kErfInv, giles, 3, 4});
  for (const Function& f : functions) {
    const std::string name(scalar_op_name(f.op));
    if ((" " + std::string(wanted) + " ").find(" " + name + " ") == std::string::npos) continue;
    constexpr int64_t kChunk = 1 << 16;
    const KernelCode fn = KernelCompiler::process().compile(unary(f.op, float32, kChunk));
    double worst = 0;
    float at = 0;
    std::vector<float> x(kChunk), y(kChunk);
    for (int64_t high = 0; high < 1 << 16; ++high) {
      for (int64_t low = 0; low < kChunk; ++low) {
        const uint32_t bits = static_cast<uint32_t>(high << 16 | low);
        std::memcpy(&x[low], &bits, 4);
      }
      void* buffers[] = {x.data(), y.data()};
      fn(buffers, 0, kChunk);
      for (int64_t i = 0; i < kChunk; ++i) {
        const double error = ulp_error(y[i], f.reference(x[i]));
        if (error > worst) {
          worst = error;
          at = x[i];
        }
      }
    }
    std::printf("%-10s all float32: %.3f ulp at %.9g\n", name.c_str(), worst, at);
    std::fflush(stdout);
    EXPECT_LE(worst, f.f32_ulp) << name << "(" << at << ")";
  }
}

class Accuracy : public ::testing::TestWithParam<Function> {};
TEST_P(Accuracy, Float32) { sweep<float>(GetParam(), GetParam().f32_ulp); }
TEST_P(Accuracy, Float64) { sweep<double>(GetParam(), GetParam().f64_ulp); }
INSTANTIATE_TEST_SUITE_P(All, Accuracy, ::testing::ValuesIn(kFunctions), [](const auto& info) {
  return std::string(scalar_op_name(info.param.op));
});

}  // namespace
}  // namespace tessera::codegen::test::math_test
