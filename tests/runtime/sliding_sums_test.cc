// Compares sums of sliding windows with sums in order, bit by bit, for lengths around those of
// vectors and of blocks of vectors.
#include "tessera/runtime/convolutions/sliding_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tessera::sliding_sums_test {

using namespace runtime;

namespace {

bool rounds_once() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

std::vector<double> numbers(int64_t count, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> out(static_cast<size_t>(count));
  for (double& x : out) x = normal(random);
  return out;
}

TEST(SlidingSums, AddInOrder) {
  std::mt19937 random(1);
  for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 70, 71, 200})
    for (int64_t taps : {1, 2, 9, 100})
      for (int64_t distance : {1, 2, 5}) {
        const std::vector<double> line = numbers(n + (taps - 1) * distance, random),
                                  filter = numbers(taps, random);
        std::vector<double> got(static_cast<size_t>(n + 1), 7.0), want = got;
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t t = 0; t < taps; ++t) {
            const double w = filter[static_cast<size_t>(t)],
                         x = line[static_cast<size_t>(j + t * distance)];
            sum = rounds_once() ? std::fma(w, x, sum) : sum + w * x;
          }
          want[static_cast<size_t>(j)] = sum;
        }
        sliding_sums(line.data(), n, filter.data(), taps, distance, got.data());
        EXPECT_TRUE(got == want) << n << " sums of " << taps << ", " << distance << " apart";
      }
}

TEST(SlidingSums, InfinitiesAndNaN) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<double> line(100, 1.0), filter(3, 1.0), out(98);
  line[50] = kInf;
  filter[1] = 0;
  sliding_sums(line.data(), 98, filter.data(), 3, 1, out.data());
  for (size_t j = 0; j < out.size(); ++j) {
    if (j == 48 || j == 50) {
      EXPECT_EQ(out[j], kInf);
    } else if (j == 49) {
      EXPECT_TRUE(std::isnan(out[j]));  // zero times infinity
    } else {
      EXPECT_EQ(out[j], 2);
    }
  }
}

}  // namespace
}  // namespace tessera::sliding_sums_test
