// Compares transforms of real sequences with the sum that defines them.
#include "tessera/privacy/accounting/fft.h"

#include <cmath>

namespace tessera::privacy::accounting::internal::fft_test {
namespace {

using Complex = std::complex<double>;

std::vector<double> some_values(size_t n) {
  std::vector<double> out;
  for (size_t i = 0; i < n; ++i) out.push_back(std::sin(1.7 * static_cast<double>(i * i % 101)));
  return out;
}

// Returns sum_i values_i exp(-2 pi i k / n).
Complex coefficient(const std::vector<double>& values, size_t k) {
  Complex sum = 0;
  for (size_t i = 0; i < values.size(); ++i)
    sum += std::polar(values[i], -2 * M_PI * static_cast<double>(i * k % values.size()) /
                                     static_cast<double>(values.size()));
  return sum;
}

// Short sizes, long ones, and one whose half has a large prime factor.
constexpr size_t kSizes[] = {2, 4, 6, 30, 64, 450, 2048, 3750, 2 * 211};

TEST(RealFft, GivesTheFirstHalfOfTheCoefficients) {
  for (size_t n : kSizes) {
    const std::vector<double> values = some_values(n);
    const std::vector<Complex> out = RealFft(n).forward(values);
    ASSERT_EQ(out.size(), n / 2 + 1);
    for (size_t k = 0; k < out.size(); ++k)
      EXPECT_LT(std::abs(out[k] - coefficient(values, k)), 1e-12 * static_cast<double>(n))
          << n << " at " << k;
  }
}

TEST(RealFft, InvertsThem) {
  for (size_t n : kSizes) {
    const std::vector<double> values = some_values(n);
    const RealFft fft(n);
    const std::vector<double> back = fft.inverse(fft.forward(values));
    ASSERT_EQ(back.size(), n);
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(back[i], values[i], 1e-14) << n << " at " << i;
  }
}

TEST(RealFft, TakesTheFirstAndLastCoefficientAsReal) {
  const RealFft fft(64);
  std::vector<Complex> coefficients = fft.forward(some_values(64));
  const std::vector<double> values = fft.inverse(coefficients);
  coefficients.front() += Complex(0, 3);
  coefficients.back() += Complex(0, -2);
  EXPECT_EQ(fft.inverse(coefficients), values);
}

TEST(FastFftSize, IsTheNextEvenOneOfSmallFactors) {
  EXPECT_EQ(fast_fft_size(1), 2u);
  EXPECT_EQ(fast_fft_size(7), 8u);
  EXPECT_EQ(fast_fft_size(14), 16u);
  EXPECT_EQ(fast_fft_size(15), 16u);
  EXPECT_EQ(fast_fft_size(450), 450u);
  EXPECT_EQ(fast_fft_size(451), 480u);
  EXPECT_EQ(fast_fft_size(1025), 1080u);
}

}  // namespace
}  // namespace tessera::privacy::accounting::internal::fft_test
