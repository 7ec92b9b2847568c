// The transforms that are kept for later calls.
#include "tessera/ops/fourier/transform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include "tessera/base/format.h"
#include "tests/forks.h"

namespace tessera::ops::fourier::transform_test {
namespace {

std::shared_ptr<const Transform> find(int64_t n, DType real = float32) {
  return find_transform({FftType::kFft, 0, {n}}, real, Shape{n});
}

TEST(Transform, IsPreparedOnce) {
  const auto first = find(24);
  EXPECT_EQ(find(24), first);
  EXPECT_NE(find(25), first);
  EXPECT_NE(find(24, float64), first);
  EXPECT_NE(find_transform({FftType::kIfft, 0, {24}}, float32, Shape{24}), first);
  EXPECT_NE(find_transform({FftType::kFft, 0, {24}}, float32, Shape{24, 2}), first);
  EXPECT_NE(find_transform({FftType::kFft, 1, {24}}, float32, Shape{2, 24}), first);
  EXPECT_EQ(find(24), first);
}

TEST(Transform, TheLatestAreKept) {
  std::weak_ptr<const Transform> first = find(24);
  for (int64_t n = 100; n < 131; ++n) find(n);
  EXPECT_FALSE(first.expired());
  find(131);
  EXPECT_TRUE(first.expired());
}

TEST(Transform, ForksWhileThreadsLookThemUp) {
  test::expect_work_in_children([](int thread) { find(32 + 2 * thread); }, 100);
}

using Complex = std::complex<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

// The sum of the definition for point k, in which a term with the factor zero is zero.
Complex point(const std::vector<Complex>& line, int64_t k, bool inverse) {
  const auto n = static_cast<int64_t>(line.size());
  double re = 0, im = 0;
  const auto term = [](double x, double factor) { return factor == 0 ? 0 : x * factor; };
  for (int64_t j = 0; j < n; ++j) {
    const int64_t m = j * k % n;
    const double angle = 2 * std::numbers::pi * static_cast<double>(m) / static_cast<double>(n);
    const double c = 4 * m == n || 4 * m == 3 * n ? 0 : std::cos(angle);
    const double s = (2 * m) % n == 0 ? 0 : inverse ? std::sin(angle) : -std::sin(angle);
    re += term(line[j].real(), c) - term(line[j].imag(), s);
    im += term(line[j].real(), s) + term(line[j].imag(), c);
  }
  return inverse ? Complex(re / static_cast<double>(n), im / static_cast<double>(n))
                 : Complex(re, im);
}
void expect_same(double got, double expected, const std::string& where) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << where << got;
  } else if (std::isinf(expected)) {
    EXPECT_EQ(got, expected) << where;
  } else {
    EXPECT_NEAR(got, expected, 1e-9) << where;
  }
}

// Five lines, the second with one infinity, the third with two, and so on, some of them imaginary.
std::vector<Complex> lines_with_infinities(int64_t n) {
  std::vector<Complex> x(5 * n);
  for (int64_t i = 0; i < 5 * n; ++i)
    x[i] = {std::sin(static_cast<double>(3 * i + 1)), std::cos(static_cast<double>(i))};
  for (int64_t line = 1; line < 5; ++line)
    for (int64_t i = 0; i < line; ++i) {
      Complex& value = x[line * n + (7 * i + line) % n];
      const double infinity = (line + i) % 3 ? kInf : -kInf;
      value = (line + i) % 2 ? Complex(infinity, value.imag()) : Complex(value.real(), infinity);
    }
  return x;
}

TEST(Transform, InfinitiesAreThoseOfTheDefinition) {
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 17, 34, 64, 97})
    for (const FftType type : {FftType::kFft, FftType::kIfft}) {
      const std::vector<Complex> x = lines_with_infinities(n);
      std::vector<Complex> y(5 * n);
      find_transform({type, 1, {n}}, float64, Shape{5, n})->run(x.data(), y.data());
      for (int64_t i = 0; i < 5 * n; ++i) {
        const std::vector<Complex> line(x.begin() + i / n * n, x.begin() + (i / n + 1) * n);
        const Complex expected = point(line, i % n, type == FftType::kIfft);
        const std::string where = fmt::format("n = {}, element {}: ", n, i);
        expect_same(y[i].real(), expected.real(), where);
        expect_same(y[i].imag(), expected.imag(), where);
      }
    }
}

TEST(Transform, InfinitiesOfRealLines) {
  for (const int64_t n : {1, 2, 3, 4, 5, 8, 9, 12, 34, 64}) {
    const int64_t half = n / 2 + 1;
    const std::vector<Complex> given = lines_with_infinities(n);
    std::vector<double> x(5 * n);
    for (int64_t i = 0; i < 5 * n; ++i) x[i] = given[i].real();
    std::vector<Complex> y(5 * half);
    find_transform({FftType::kRfft, 1, {n}}, float64, Shape{5, n})->run(x.data(), y.data());
    for (int64_t i = 0; i < 5 * half; ++i) {
      const std::vector<Complex> line(x.begin() + i / half * n, x.begin() + (i / half + 1) * n);
      const std::string where = fmt::format("forward, n = {}, element {}: ", n, i);
      expect_same(y[i].real(), point(line, i % half, false).real(), where);
      expect_same(y[i].imag(), point(line, i % half, false).imag(), where);
    }
    const std::vector<Complex> spectra = lines_with_infinities(half);
    std::vector<double> z(5 * n);
    find_transform({FftType::kIrfft, 1, {n}}, float64, Shape{5, half})
        ->run(spectra.data(), z.data());
    for (int64_t l = 0; l < 5; ++l) {
      std::vector<Complex> line(n);
      for (int64_t k = 0; k < half; ++k) {
        const Complex value = spectra[l * half + k];
        const bool real = k == 0 || 2 * k == n;
        line[k] = real ? value.real() : value;
        if (!real) line[n - k] = std::conj(value);
      }
      for (int64_t i = 0; i < n; ++i)
        expect_same(z[l * n + i], point(line, i, true).real(),
                    fmt::format("inverse, n = {}, line {}, element {}: ", n, l, i));
    }
  }
}

// An infinity reaches the points of its row, and then those of all rows; other arrays of the batch
// keep their bits.
TEST(Transform, InfinitiesOfTwoDimensions) {
  const TransformSpec spec{FftType::kFft, 1, {3, 4}};
  std::vector<Complex> x(24), y(24), z(24);
  for (int64_t i = 0; i < 24; ++i) x[i] = {std::sin(static_cast<double>(i)), 1};
  find_transform(spec, float64, Shape{2, 3, 4})->run(x.data(), y.data());
  x[1] = {kInf, 0};
  find_transform(spec, float64, Shape{2, 3, 4})->run(x.data(), z.data());
  for (int64_t i = 12; i < 24; ++i) EXPECT_EQ(y[i], z[i]);
  EXPECT_EQ(z[0].real(), kInf);
  EXPECT_EQ(z[1].imag(), -kInf);
  EXPECT_TRUE(std::isfinite(z[0].imag()) && std::isfinite(z[1].real()));
}

}  // namespace
}  // namespace tessera::ops::fourier::transform_test
