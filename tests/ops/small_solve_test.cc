#include "tessera/ops/factor/small_solve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace tessera::testing_ops::small_solve_test {

using namespace ops::factor;

namespace {

template <class T>
constexpr bool kComplex = !std::is_floating_point_v<T>;

// Returns a * b + c with the roundings that small_solve has.
template <class T>
T fused(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <class T>
std::complex<T> fused(std::complex<T> a, std::complex<T> b, std::complex<T> c) {
  return {std::fma(-a.imag(), b.imag(), std::fma(a.real(), b.real(), c.real())),
          std::fma(a.imag(), b.real(), std::fma(a.real(), b.imag(), c.imag()))};
}
template <class T>
T divided(T x, T y) {
  return x / y;
}
template <class T>
std::complex<T> divided(std::complex<T> x, std::complex<T> y) {
  if (y == std::complex<T>()) return {x.real() / y.real(), x.imag() / y.real()};
  if (std::abs(y.real()) >= std::abs(y.imag())) {
    const T ratio = y.imag() / y.real(), scale = std::fma(y.imag(), ratio, y.real());
    return {std::fma(x.imag(), ratio, x.real()) / scale,
            std::fma(-x.real(), ratio, x.imag()) / scale};
  }
  const T ratio = y.real() / y.imag(), scale = std::fma(y.real(), ratio, y.imag());
  return {std::fma(x.real(), ratio, x.imag()) / scale,
          std::fma(x.imag(), ratio, -x.real()) / scale};
}

template <class T>
bool equal(T x, T y) {
  return std::isnan(y) ? std::isnan(x) : std::memcmp(&x, &y, sizeof(T)) == 0;
}
template <class T>
bool equal(std::complex<T> x, std::complex<T> y) {
  return equal(x.real(), y.real()) && equal(x.imag(), y.imag());
}

// Returns numbers, of which those where a diagonal may be are far from zero.
template <class T>
std::vector<T> random(int64_t count, int64_t diagonal, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<T> out;
  for (int64_t i = 0; i < count; ++i) {
    const double x = real(rng);
    const double part =
        diagonal && i % diagonal == i / diagonal % diagonal ? (x < 0 ? x - 2 : x + 2) : x;
    if constexpr (kComplex<T>) {
      out.emplace_back(static_cast<typename T::value_type>(part),
                       static_cast<typename T::value_type>(3 * real(rng)));
    } else {
      out.push_back(static_cast<T>(part));
    }
  }
  return out;
}

// The same operations, one after the other.
template <class T>
void substitute(const SolveBatch<T>& b, int64_t members, T* out) {
  const bool swapped = b.transposed == b.left, backward = b.lower == swapped;
  for (int64_t member = 0; member < members; ++member)
    for (int64_t c = 0; c < b.columns; ++c) {
      const T* a = b.a + member * b.m * b.m;
      const auto at = [&](int64_t i) {
        return member * b.m * b.columns + (b.left ? i * b.columns + c : c * b.m + i);
      };
      const auto coefficient = [&](int64_t i, int64_t j) -> T {
        const T one = swapped ? a[j * b.m + i] : a[i * b.m + j];
        if constexpr (kComplex<T>) return b.conjugated ? std::conj(one) : one;
        return one;
      };
      for (int64_t p = 0; p < b.m; ++p) {
        const int64_t i = backward ? b.m - 1 - p : p;
        T sum = b.b[at(i)];
        for (int64_t q = 0; q < p; ++q) {
          const int64_t j = backward ? b.m - 1 - q : q;
          sum = fused(-coefficient(i, j), out[at(j)], sum);
        }
        out[at(i)] = b.unit_diagonal ? sum : divided(sum, coefficient(i, i));
      }
    }
}

template <class T>
void check(int64_t m, int64_t columns, int64_t members, bool left, int forms, double special = 0) {
  if (!is_small_solve(m, 4)) GTEST_SKIP() << "this CPU has no fused multiply-add";
  std::vector<T> a = random<T>(members * m * m, m, static_cast<uint32_t>(m));
  const std::vector<T> b = random<T>(members * m * columns, 0, 5);
  SolveBatch<T> batch{.m = m,
                      .columns = columns,
                      .left = left,
                      .lower = (forms & 1) != 0,
                      .transposed = (forms & 2) != 0,
                      .unit_diagonal = (forms & 4) != 0,
                      .conjugated = (forms & 8) != 0};
  // What must not be read.
  for (int64_t e = 0; e < members * m * m; ++e) {
    const int64_t i = e / m % m, j = e % m;
    if ((i == j && batch.unit_diagonal) || (batch.lower ? j > i : j < i))
      a[static_cast<size_t>(e)] = std::numeric_limits<T>::quiet_NaN();
  }
  if (special != 0)
    for (size_t e = 0; e < a.size(); e += static_cast<size_t>(m * m + 1)) a[e] = T(special - 1);
  batch.a = a.data();
  batch.b = b.data();
  std::vector<T> got(b.size(), T(7)), want(b.size());
  batch.x = got.data();
  small_solve(batch, members);
  substitute(batch, members, want.data());
  for (size_t i = 0; i < b.size(); ++i)
    ASSERT_TRUE(equal(got[i], want[i]))
        << m << " unknowns, " << columns << " right-hand sides, " << members << " members, left "
        << left << ", forms " << forms << ", element " << i << ": " << got[i] << ", not "
        << want[i];
}

TEST(SmallSolve, EqualsTheSameOperationsOneByOne) {
  for (int64_t m : {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32})
    for (int64_t columns : {1, 3, 8, 16, 33, 70})
      for (int64_t members : {1, 3, 19})
        for (bool left : {true, false})
          for (int forms = 0; forms < 8; ++forms) {
            check<float>(m, columns, members, left, forms);
            check<double>(m, columns, members, left, forms);
            if (columns != 3 && columns != 70) continue;
            for (int conjugated : {0, 8}) {
              check<std::complex<float>>(m, columns, members, left, forms + conjugated);
              check<std::complex<double>>(m, columns, members, left, forms + conjugated);
            }
          }
}

TEST(SmallSolve, ZerosInfinityAndNan) {
  for (double special :
       {1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    for (int64_t columns : {1, 20, 40})
      for (int64_t members : {1, 19})
        for (bool left : {true, false}) {
          check<float>(8, columns, members, left, 1, special);
          check<std::complex<float>>(8, columns, members, left, 1, special);
        }
}

TEST(SmallSolve, OtherSizesAreLeftToBlas) {
  for (int64_t m : {0, 33, 40}) EXPECT_FALSE(is_small_solve(m, 4));
  EXPECT_FALSE(is_small_solve(5, 132));
}

}  // namespace
}  // namespace tessera::testing_ops::small_solve_test
