// Tests quotients that are computed by multiplications: by numbers that a row shares, by constants
// and by square roots, and reciprocals of square roots.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "kernel_builder.h"

namespace tessera::codegen::test::quotients_test {
namespace {

using enum ScalarOp;

// Returns numbers of random mantissas; half of their exponents are near 0, the others anywhere.
// The first numbers are zeros, denormals, infinities, NaN and the ends of ranges.
template <class T>
std::vector<T> numbers(int64_t count, uint64_t seed) {
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  std::mt19937_64 random(seed);
  std::vector<T> out{T(0),
                     -T(0),
                     T(1),
                     T(-3),
                     std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::denorm_min(),
                     std::numeric_limits<T>::max(),
                     std::numeric_limits<T>::infinity(),
                     -std::numeric_limits<T>::infinity(),
                     std::numeric_limits<T>::quiet_NaN(),
                     std::nextafter(T(2), T(0)),
                     std::nextafter(T(1), T(2))};
  while (static_cast<int64_t>(out.size()) < count) {
    const bool near = random() % 2;
    const int far = std::numeric_limits<T>::max_exponent + kMantissa;
    const int exponent =
        static_cast<int>(random() % static_cast<uint64_t>(near ? 8 : 2 * far)) - (near ? 4 : far);
    const T mantissa = T(1) + std::ldexp(static_cast<T>(random() >> (64 - kMantissa)), -kMantissa);
    out.push_back((random() % 2 ? T(-1) : T(1)) * std::ldexp(mantissa, exponent));
  }
  return out;
}

template <class T>
void expect_same_bits(T got, T want, T dividend, T divisor) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  if (std::isnan(want) && std::isnan(got)) return;
  ASSERT_EQ(std::bit_cast<Bits>(got), std::bit_cast<Bits>(want)) << dividend << " / " << divisor;
}

template <class T>
void check_rows_divided() {
  constexpr DType dtype = dtype_of<T>;
  const int64_t rows = 400, n = 1031;
  KernelMaker m;
  const int x = m.buffer(dtype, n), d = m.buffer(dtype, rows),
            z = m.buffer(dtype, rows * n, BufferKind::kOutput);
  m.k.parallel = {rows};
  m.k.vectorize = Kernel::Vectorize::kInner;
  m.loop({n});
  m.store(z, {0, {n}, {1}},
          m.op(kDiv, dtype, {m.load(x, {0, {0}, {1}}), m.load(d, {0, {1}, {0}})}));
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(m.k);
    const std::vector<T> dividends = numbers<T>(n, 5), divisors = numbers<T>(rows, 6);
    std::copy(dividends.begin(), dividends.end(), b.data<T>(x));
    std::copy(divisors.begin(), divisors.end(), b.data<T>(d));
    compiler->compile(m.k)(b.pointers().data(), 0, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < n; ++j)
        expect_same_bits(b.data<T>(z)[i * n + j], dividends[j] / divisors[i], dividends[j],
                         divisors[i]);
  }
}
TEST(Quotients, RowsAreDividedExactly) {
  check_rows_divided<float>();
  check_rows_divided<double>();
}

// Some dividends are multiples of the divisor, and neighbours of these and of halves of them, also
// among denormal numbers.
template <class T>
std::vector<T> near_multiples(T divisor) {
  std::vector<T> out = numbers<T>(3000, 7);
  std::mt19937_64 random(8);
  const int least = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
  for (int i = 0; i < 3000; ++i) {
    const T multiple = std::abs(divisor) * static_cast<T>(random() % 4096) / 2;
    const T scaled = std::ldexp(multiple, i % 2 ? 0 : least + static_cast<int>(random() % 40));
    for (T x : {scaled, std::nextafter(scaled, T(0)), std::nextafter(scaled, T(1e30))})
      out.push_back(i % 3 ? x : -x);
  }
  return out;
}

template <class T>
void check_constant(T divisor) {
  constexpr DType dtype = dtype_of<T>;
  const std::vector<T> dividends = near_multiples(divisor);
  const auto n = static_cast<int64_t>(dividends.size());
  KernelMaker m;
  const int x = m.buffer(dtype, n), z = m.buffer(dtype, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  m.store(z, {0, {1}, {}}, m.op(kDiv, dtype, {m.load(x, {0, {1}, {}}), m.constant<T>(divisor)}));
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(m.k);
    std::copy(dividends.begin(), dividends.end(), b.data<T>(x));
    compiler->compile(m.k)(b.pointers().data(), 0, n);
    for (int64_t i = 0; i < n; ++i) {
      expect_same_bits(b.data<T>(z)[i], dividends[i] / divisor, dividends[i], divisor);
    }
  }
}
TEST(Quotients, ByConstantsAreExact) {
  for (double d : {1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 10.0, 100.0, 255.0, 1000.0, 4095.0, 4097.0, -6.0,
                   0.1, 1.5, 0.0, 1e30}) {
    check_constant(static_cast<float>(d));
    check_constant(d);
  }
  for (double d : {1e6, 0x1p24 + 1, 0x1p25 - 1, 0x1p25 + 1, 1e300}) check_constant(d);
}

// Returns the distance from `want` in its last places.
template <class T>
double places(T got, long double want) {
  if (std::isnan(want) || std::isinf(want) || want == 0)
    return (std::isnan(want) && std::isnan(got)) ||
                   (got == want && std::signbit(got) == std::signbit(want))
               ? 0
               : 1e30;
  int exponent = 0;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs(got - want) /
                             std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

// Zeros, denormals, infinities and NaN are among other numbers of one vector.
template <class T>
void check_reciprocal_roots() {
  const std::vector<T> xs = numbers<T>(200'003, 9);
  const auto n = static_cast<int64_t>(xs.size());
  const Kernel kernel = function_of(kRsqrt, dtype_of<T>, n);
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(kernel);
    std::copy(xs.begin(), xs.end(), b.data<T>(0));
    compiler->compile(kernel)(b.pointers().data(), 0, n);
    for (int64_t i = 0; i < n; ++i) {
      const double off = places(b.data<T>(1)[i], 1 / std::sqrt(static_cast<long double>(xs[i])));
      ASSERT_LE(off, std::isnormal(xs[i]) ? 0.502 : 1.5) << xs[i];
    }
  }
}
TEST(Quotients, ReciprocalRoots) {
  check_reciprocal_roots<float>();
  check_reciprocal_roots<double>();
}

template <class T>
void check_quotients_by_roots() {
  constexpr DType dtype = dtype_of<T>;
  const int64_t n = 100'003;
  KernelMaker m;
  const int x = m.buffer(dtype, n), y = m.buffer(dtype, n),
            z = m.buffer(dtype, n, BufferKind::kOutput);
  m.k.parallel = {n};
  m.loop({});
  const int dividend = m.load(x, {0, {1}, {}}), square = m.load(y, {0, {1}, {}});
  m.store(z, {0, {1}, {}}, m.op(kDivByRoot, dtype, {dividend, square}));
  std::vector<T> dividends = numbers<T>(n, 10), squares = numbers<T>(n, 11);
  std::mt19937_64 random(12);
  std::shuffle(dividends.begin(), dividends.end(), random);
  for (int64_t i = 0; i < n; i += 3) squares[i] = dividends[i] * dividends[i];
  for (KernelCompiler* compiler : compilers()) {
    Buffers b(m.k);
    std::copy(dividends.begin(), dividends.end(), b.data<T>(x));
    std::copy(squares.begin(), squares.end(), b.data<T>(y));
    compiler->compile(m.k)(b.pointers().data(), 0, n);
    int64_t differ = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T want = dividends[i] / std::sqrt(squares[i]), got = b.data<T>(z)[i];
      ASSERT_LE(places(got, want), 1) << dividends[i] << " / sqrt(" << squares[i] << ")";
      differ += places(got, want) > 0;
      if (i % 3 == 0 && std::isnormal(squares[i]) && std::abs(want) == 1) {
        ASSERT_EQ(got, want) << dividends[i];
      }
    }
    EXPECT_LE(differ, n / 1000);
  }
}
TEST(Quotients, ByRoots) {
  check_quotients_by_roots<float>();
  check_quotients_by_roots<double>();
}

}  // namespace
}  // namespace tessera::codegen::test::quotients_test
