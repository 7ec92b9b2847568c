#include "tessera/privacy/noise/normal_draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

#include "tessera/compile/jit.h"
#include "tessera/numpy/creation.h"
#include "tessera/random/random.h"

namespace tessera::normal_draws_test {
namespace {

using privacy::internal::normal_of_words;
using privacy::internal::normal_tail_quantile;
using random::internal::Words;

long double exact_quantile(long double p) {
  return std::numbers::sqrt2_v<long double> * boost::math::erfc_inv(2 * p);
}

Array drawn(const random::Key& key, const Shape& shape) {
  return normal_of_words(
      random::internal::hash_of_index(random::internal::key_words("test", key), shape));
}

Words words_of(const std::vector<uint32_t>& high, const std::vector<uint32_t>& low) {
  return {from_host(high), from_host(low)};
}

// Compares with Boost's inverse in 64 bits, at and between all powers of two down to the smallest
// p, and next to every point where the logarithm changes its exponent.
TEST(NormalDraws, QuantileIsExactInTheTail) {
  std::vector<double> p;
  for (int k = 1; k <= 65; ++k)
    for (const double m : {1.0, 1.09, 1.17, 1.2, std::numbers::sqrt2 * (1 - 1e-12),
                           std::numbers::sqrt2 * (1 + 1e-12), 1.5, 1.71, 1.93})
      if (k > 1 || m == 1) p.push_back(std::ldexp(m, -k));
  for (double x = 0.4; x < 0.5; x += 1e-3) p.push_back(x);
  std::vector<double> k(p);
  for (double& x : k) x *= 0x1p64;
  const std::vector<double> z = to_vector<double>(
      normal_tail_quantile(Array(Literal::from<double>(k, {static_cast<int64_t>(k.size())}))));
  for (size_t i = 0; i < p.size(); ++i) {
    const long double exact = exact_quantile(p[i]);
    EXPECT_LE(std::abs(z[i] - exact), 1e-11L * exact + 2e-16L) << "p = " << p[i];
  }
}

// The first and last words and those in the middle: numbers on both sides are equal except for
// their sign, and reach equally far.
TEST(NormalDraws, BothTailsAreTheSame) {
  // The number high ^ low, low has to be 0, 2^64 - 1, 2^63 - 1 and 2^63; then 1 and 2^64 - 2.
  const Words words =
      words_of({0, 0, 0x80000000, 0x80000000, 1, 1}, {0, 0xffffffff, 0xffffffff, 0, 1, 0xfffffffe});
  const std::vector<double> z = to_vector<double>(normal_of_words(words));
  const auto end = static_cast<double>(exact_quantile(std::ldexp(1.0L, -65)));
  EXPECT_GT(end, 9.07);
  EXPECT_NEAR(z[0], -end, 1e-9);
  EXPECT_EQ(z[1], -z[0]);
  EXPECT_NEAR(z[2], 0, 1e-15);
  EXPECT_EQ(z[3], -z[2]);
  EXPECT_NEAR(z[4], static_cast<double>(-exact_quantile(std::ldexp(1.5L, -64))), 1e-9);
  EXPECT_EQ(z[5], -z[4]);
}

// Tests the moments, Kolmogorov and Smirnov's statistic, and counts beyond thresholds of 40 million
// draws. The Poisson counts of the tails may be off by four standard deviations.
TEST(NormalDraws, AreNormal) {
  const int64_t n = 10'000'000, parts = 4;
  const double total = static_cast<double>(n * parts), root = std::sqrt(total);
  double sums[4] = {}, most = 0, least = 0;
  const std::vector<double> thresholds{2, 3, 4, 4.5, 5};
  std::vector<double> above(thresholds.size()), below(thresholds.size());
  std::vector<int64_t> bins(1 << 16);
  const double width = 6.0 / (1 << 15);
  const auto draw = jit([&](const random::Key& key) { return drawn(key, {n}); });
  for (int64_t part = 0; part < parts; ++part)
    for (const double x : to_vector<double>(draw(random::key(100 + part)))) {
      for (double power = 1, *sum = sums; sum < sums + 4; ++sum) *sum += power *= x;
      most = std::max(most, x), least = std::min(least, x);
      for (size_t i = 0; i < thresholds.size(); ++i)
        above[i] += x > thresholds[i], below[i] += x < -thresholds[i];
      ++bins[static_cast<size_t>(std::clamp((x + 6) / width, 0.0, 65535.0))];
    }
  EXPECT_NEAR(sums[0] / total, 0, 4 / root);
  EXPECT_NEAR(sums[1] / total, 1, 4 * std::sqrt(2) / root);
  EXPECT_NEAR(sums[2] / total, 0, 4 * std::sqrt(15) / root);
  EXPECT_NEAR(sums[3] / total, 3, 4 * std::sqrt(96) / root);
  for (size_t i = 0; i < thresholds.size(); ++i) {
    const double expected = total * 0.5 * std::erfc(thresholds[i] / std::numbers::sqrt2);
    EXPECT_NEAR(above[i], expected, 4 * std::sqrt(expected) + 1) << thresholds[i];
    EXPECT_NEAR(below[i], expected, 4 * std::sqrt(expected) + 1) << thresholds[i];
  }
  EXPECT_GT(most, 5);
  EXPECT_LT(least, -5);
  double distance = 0;
  int64_t count = 0;
  for (size_t i = 0; i < bins.size(); ++i) {
    count += bins[i];
    const double edge = static_cast<double>(i + 1) * width - 6;
    distance = std::max(distance, std::abs(0.5 * std::erfc(-edge / std::numbers::sqrt2) -
                                           static_cast<double>(count) / total));
  }
  EXPECT_LT(root * distance, 1.95);  // larger once in a thousand runs
}

// Draws are close to random::normal of the same key: the uniform numbers are in the same cell.
TEST(NormalDraws, ShareTheFirstBitsOfRandomNormal) {
  const random::Key key = random::key(11);
  const std::vector<double> z = to_vector<double>(drawn(key, {100'000}));
  const std::vector<float> jax = to_vector<float>(random::normal(key, {100'000}));
  for (size_t i = 0; i < z.size(); ++i) {
    const double slope = std::sqrt(2 * std::numbers::pi) * std::exp(z[i] * z[i] / 2);
    // The tolerance is a cell of 2^-22 of a number in (-1, 1), and a few ulps of float32.
    EXPECT_NEAR(z[i], jax[i], 1.2 * std::ldexp(slope, -23) + 4e-7 * (1 + std::abs(z[i]))) << i;
  }
}

TEST(NormalDraws, AreFloat64WithoutX64) {
  const Array z = drawn(random::key(0), {4});
  EXPECT_EQ(z.dtype(), float64);
  // The draws are not rounded to float32 in between.
  for (const double x : to_vector<double>(z)) EXPECT_NE(x, static_cast<float>(x));
}

}  // namespace
}  // namespace tessera::normal_draws_test
