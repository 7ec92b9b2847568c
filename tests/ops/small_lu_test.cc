#include "tessera/ops/factor/small_lu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace tessera::testing_ops::small_lu_test {

using namespace ops::factor;

namespace {

template <class T>
struct Results {
  std::vector<T> lu;
  std::vector<int32_t> pivots, permutation, info;
};

size_t as_size(int64_t n) { return static_cast<size_t>(n); }

template <class T>
std::vector<T> random(int64_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<T> out(as_size(count));
  for (T& x : out) x = static_cast<T>(real(rng));
  return out;
}

template <class T>
Results<T> factored(int64_t m, int64_t n, const std::vector<T>& a) {
  const int64_t members = static_cast<int64_t>(a.size()) / (m * n), k = std::min(m, n);
  Results<T> out{std::vector<T>(a.size()), std::vector<int32_t>(as_size(members * k)),
                 std::vector<int32_t>(as_size(members * m)),
                 std::vector<int32_t>(as_size(members))};
  small_lu<T>({.m = m,
               .n = n,
               .a = a.data(),
               .lu = out.lu.data(),
               .pivots = out.pivots.data(),
               .permutation = out.permutation.data(),
               .info = out.info.data()},
              members);
  return out;
}

// The same operations, one after the other.
template <class T>
Results<T> expected(int64_t m, int64_t n, const std::vector<T>& a) {
  const int64_t members = static_cast<int64_t>(a.size()) / (m * n);
  Results<T> out{a, {}, {}, {}};
  for (int64_t member = 0; member < members; ++member) {
    T* x = out.lu.data() + member * m * n;
    std::vector<int32_t> rows(as_size(m));
    std::iota(rows.begin(), rows.end(), 0);
    int32_t info = 0;
    for (int64_t k = 0; k < std::min(m, n); ++k) {
      int64_t best = k;
      for (int64_t i = k + 1; i < m; ++i)
        if (std::abs(x[i * n + k]) > std::abs(x[best * n + k])) best = i;
      out.pivots.push_back(static_cast<int32_t>(best));
      std::swap_ranges(x + k * n, x + k * n + (best == k ? 0 : n), x + best * n);
      std::swap(rows[as_size(k)], rows[as_size(best)]);
      if (x[k * n + k] == 0) {
        if (info == 0) info = static_cast<int32_t>(k + 1);
        continue;
      }
      for (int64_t i = k + 1; i < m; ++i) {
        const T factor = x[i * n + k] /= x[k * n + k];
        for (int64_t j = k + 1; j < n; ++j)
          x[i * n + j] = std::fma(-factor, x[k * n + j], x[i * n + j]);
      }
    }
    out.permutation.insert(out.permutation.end(), rows.begin(), rows.end());
    out.info.push_back(info);
  }
  return out;
}

// Compares all results; factors bit by bit, except that a NaN equals every NaN.
template <class T>
void check(int64_t m, int64_t n, const std::vector<T>& a) {
  if (!is_small_lu(m, n)) GTEST_SKIP() << "this CPU has no fused multiply-add";
  const Results<T> got = factored(m, n, a), want = expected(m, n, a);
  EXPECT_EQ(got.pivots, want.pivots) << m << " x " << n;
  EXPECT_EQ(got.permutation, want.permutation) << m << " x " << n;
  EXPECT_EQ(got.info, want.info) << m << " x " << n;
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(std::isnan(want.lu[i]) ? std::isnan(got.lu[i])
                                       : std::memcmp(&got.lu[i], &want.lu[i], sizeof(T)) == 0)
        << m << " x " << n << ", element " << i << ": " << got.lu[i] << ", not " << want.lu[i];
}

// Few members are factored row by row, others in lanes.
constexpr int64_t kBatches[] = {1, 2, 3, 16, 19, 37};

TEST(SmallLu, EqualsTheSameOperationsOneByOne) {
  for (int64_t n = 1; n <= 32; ++n)
    for (int64_t members : kBatches) {
      check(n, n, random<float>(members * n * n, static_cast<uint32_t>(n)));
      check(n, n, random<double>(members * n * n, static_cast<uint32_t>(n)));
    }
  for (const auto& [m, n] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 7}, {7, 1}, {3, 5}, {17, 9}, {9, 32}, {32, 20}})
    for (int64_t members : kBatches) {
      check(m, n, random<float>(members * m * n, 3));
      check(m, n, random<double>(members * m * n, 3));
    }
}

// Elements of few values have ties, and the matrices have small ranks.
TEST(SmallLu, TiesAndZeroPivots) {
  for (int64_t n : {2, 5, 8, 16, 31})
    for (int64_t members : kBatches) {
      std::vector<float> a = random<float>(members * n * n, 7);
      for (float& x : a) x = std::round(x * 1.2f);
      check(n, n, a);
      for (int64_t i = 0; i < members * n * n; ++i)
        if (i % n == 1 || i / n % n == n - 1) a[as_size(i)] = 0;
      check(n, n, a);
    }
}

TEST(SmallLu, FirstZeroPivot) {
  if (!is_small_lu(5, 5)) GTEST_SKIP() << "this CPU has no fused multiply-add";
  for (int64_t members : {int64_t{1}, int64_t{20}}) {
    std::vector<double> a(as_size(members * 25), 0);
    for (int64_t k = 0; k < members; ++k)
      for (int64_t i = 0; i < 5; ++i) a[as_size(k * 25 + i * 6)] = i == 2 || i == 4 ? 0 : 2;
    EXPECT_EQ(factored(5, 5, a).info, std::vector<int32_t>(as_size(members), 3));
  }
}

// A NaN is a pivot only on the diagonal, as in the evaluator.
TEST(SmallLu, NanInfinityAndDenormals) {
  for (double special : {std::numeric_limits<double>::quiet_NaN(),
                         std::numeric_limits<double>::infinity(), 0.0, 5e-324, 1e-310, 1e308})
    for (int64_t n : {5, 8, 17})
      for (int64_t members : kBatches) {
        std::vector<double> a = random<double>(members * n * n, 11);
        for (size_t i = 3; i < a.size(); i += as_size(2 * n + 3)) a[i] = special;
        check(n, n, a);
        a[0] = special;
        check(n, n, a);
      }
  for (int64_t members : kBatches) {
    std::vector<float> a = random<float>(members * 36, 13);
    for (float& x : a) x *= 1e-40f;
    check(6, 6, a);
  }
}

TEST(SmallLu, OtherSizesAreLeftToLapack) {
  for (const auto& [m, n] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {3, 0}, {33, 2}, {2, 40}})
    EXPECT_FALSE(is_small_lu(m, n));
}

}  // namespace
}  // namespace tessera::testing_ops::small_lu_test
