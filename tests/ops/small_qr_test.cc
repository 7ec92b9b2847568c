#include "tessera/ops/factor/small_qr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tessera/ops/factor/lapack.h"
#include "tessera/ops/factor/matrix_op.h"

namespace tessera::testing_ops::small_qr_test {

using namespace ops::factor;

namespace {

size_t as_size(int64_t n) { return static_cast<size_t>(n); }

template <class T>
class SmallQr : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_small_qr(2, 2)) GTEST_SKIP() << "this CPU has no fused multiply-add";
  }
};
using Dtypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SmallQr, Dtypes);

// Numbers from -1 to 1, with 4 added to the diagonals: the factors of such matrices change little
// if the matrices do.
template <class T>
std::vector<T> random(int64_t m, int64_t n, int64_t members, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<T> out(as_size(m * n * members));
  for (int64_t e = 0; e < m * n * members; ++e)
    out[as_size(e)] = static_cast<T>(real(rng) + (e / n % m == e % n ? 4 : 0));
  return out;
}

template <class T>
struct Factors {
  std::vector<T> packed, taus, product, q, r;
};

// k is the number of columns of q.
template <class T>
Factors<T> factored(int64_t m, int64_t n, int64_t k, const std::vector<T>& a) {
  const int64_t members = static_cast<int64_t>(a.size()) / (m * n), small = std::min(m, n);
  Factors<T> out{std::vector<T>(a.size()),
                 std::vector<T>(as_size(members * small)),
                 {},
                 std::vector<T>(as_size(members * m * k)),
                 std::vector<T>(as_size(members * k * n))};
  small_geqrf<T>(
      {.m = m, .n = n, .a = a.data(), .packed = out.packed.data(), .taus = out.taus.data()},
      members);
  out.product = out.packed;
  if (m >= n)
    small_product<T>({.m = m,
                      .n = n,
                      .count = small,
                      .a = out.product.data(),
                      .taus = out.taus.data(),
                      .q = out.product.data()},
                     members);
  small_qr<T>({.m = m, .n = n, .k = k, .a = a.data(), .q = out.q.data(), .r = out.r.data()},
              members);
  return out;
}

// What LAPACK computes.
template <class T>
Factors<T> expected(int64_t m, int64_t n, int64_t k, const std::vector<T>& a) {
  const int64_t members = static_cast<int64_t>(a.size()) / (m * n), small = std::min(m, n);
  Factors<T> out{a, std::vector<T>(as_size(members * small)), a,
                 std::vector<T>(as_size(members * m * k)),
                 std::vector<T>(as_size(members * k * n))};
  for (int64_t member = 0; member < members; ++member) {
    std::vector<T> columns(as_size(m * std::max(n, k)));
    T* taus = out.taus.data() + member * small;
    transpose_matrix(a.data() + member * m * n, m, n, columns.data());
    ops::lapack::geqrf(static_cast<int>(m), static_cast<int>(n), columns.data(), taus);
    T *packed = out.packed.data() + member * m * n, *r = out.r.data() + member * k * n;
    transpose_matrix(columns.data(), n, m, packed);
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = i; j < n; ++j) r[i * n + j] = packed[i * n + j];
    ops::lapack::orgqr(static_cast<int>(m), static_cast<int>(k), static_cast<int>(small),
                       columns.data(), taus);
    T* q = out.q.data() + member * m * k;
    transpose_matrix(columns.data(), k, m, q);
    if (m >= n)
      for (int64_t i = 0; i < m; ++i)
        std::copy_n(q + i * k, n, out.product.data() + (member * m + i) * n);
    else
      std::copy_n(packed, m * n, out.product.data() + member * m * n);
  }
  return out;
}

template <class T>
bool same(T x, T y) {
  return std::isnan(y) ? std::isnan(x) : std::memcmp(&x, &y, sizeof(T)) == 0;
}
template <class T>
void expect_near(const std::vector<T>& got, const std::vector<T>& want, const char* what, int64_t m,
                 int64_t n) {
  ASSERT_EQ(got.size(), want.size());
  const T tolerance = 100 * std::numeric_limits<T>::epsilon();
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], tolerance) << what << " of " << m << " x " << n << ", " << i;
}
template <class T>
void check(int64_t m, int64_t n, int64_t k, int64_t members) {
  const std::vector<T> a = random<T>(m, n, members, static_cast<uint32_t>(m + n));
  const Factors<T> got = factored(m, n, k, a), want = expected(m, n, k, a);
  expect_near(got.packed, want.packed, "reflectors", m, n);
  expect_near(got.taus, want.taus, "taus", m, n);
  expect_near(got.product, want.product, "product", m, n);
  expect_near(got.q, want.q, "q", m, n);
  expect_near(got.r, want.r, "r", m, n);
}

const std::vector<std::pair<int64_t, int64_t>> kShapes{
    {1, 1}, {2, 2}, {3, 3}, {4, 4},  {5, 5},  {8, 8},  {13, 13}, {16, 16}, {32, 32},
    {1, 7}, {7, 1}, {3, 5}, {16, 3}, {17, 9}, {9, 32}, {32, 8},  {31, 30}};

TYPED_TEST(SmallQr, EqualsThatOfLapack) {
  for (const auto& [m, n] : kShapes)
    for (int64_t members : {1, 2, 3, 16, 19, 37}) {
      check<TypeParam>(m, n, std::min(m, n), members);
      check<TypeParam>(m, n, m, members);
    }
}

// The numbers of members choose vectors of different lengths.
TYPED_TEST(SmallQr, BitsDoNotDependOnTheBatch) {
  using T = TypeParam;
  for (const auto& [m, n] : kShapes) {
    const std::vector<T> a = random<T>(m, n, 37, 5);
    const Factors<T> all = factored(m, n, m, a);
    for (int64_t member = 0; member < 37; ++member) {
      const auto from = a.begin() + member * m * n;
      const Factors<T> one = factored(m, n, m, std::vector<T>(from, from + m * n));
      const auto part = [&](const std::vector<T>& x) {
        const auto size = static_cast<int64_t>(x.size()) / 37;
        return std::vector<T>(x.begin() + member * size, x.begin() + (member + 1) * size);
      };
      ASSERT_EQ(one.packed, part(all.packed)) << m << " x " << n;
      ASSERT_EQ(one.taus, part(all.taus)) << m << " x " << n;
      ASSERT_EQ(one.product, part(all.product)) << m << " x " << n;
      ASSERT_EQ(one.q, part(all.q)) << m << " x " << n;
      ASSERT_EQ(one.r, part(all.r)) << m << " x " << n;
    }
  }
}

// Columns multiplied by powers of two have the same q, and columns of r multiplied by them, even if
// their squares overflow or underflow.
TYPED_TEST(SmallQr, HugeAndTinyColumns) {
  using T = TypeParam;
  const int huge = std::numeric_limits<T>::max_exponent - 6,
            tiny = std::is_same_v<T, float> ? -80 : -900;
  const int powers[] = {0, huge, tiny, huge / 2, tiny / 2};
  for (int64_t members : {3, 37}) {
    const std::vector<T> a = random<T>(9, 5, members, 3);
    std::vector<T> scaled = a;
    for (size_t e = 0; e < a.size(); ++e) scaled[e] = std::ldexp(a[e], powers[(e / 45 + e) % 5]);
    const Factors<T> got = factored(9, 5, 9, scaled), want = factored(9, 5, 9, a);
    ASSERT_EQ(got.q, want.q);
    ASSERT_EQ(got.taus, want.taus);
    for (size_t e = 0; e < want.r.size(); ++e)
      ASSERT_EQ(got.r[e], std::ldexp(want.r[e], powers[(e / 45 + e) % 5])) << e;
  }
}

// LAPACK overflows if it subtracts the largest numbers; taus are at most 2.
TYPED_TEST(SmallQr, ElementsOfDifferentSizes) {
  using T = TypeParam;
  const T huge = std::ldexp(T(1), std::numeric_limits<T>::max_exponent - 1), tiny = 1 / huge;
  for (const auto& [first, second] : std::vector<std::pair<T, T>>{
           {T(0), huge}, {tiny, huge}, {huge, tiny}, {T(0), tiny}, {huge, T(0)}}) {
    const T norm = std::max(first, second);
    std::vector<T> a;
    for (int i = 0; i < 20; ++i) a.insert(a.end(), {first, second});
    const T tau = static_cast<T>(second == 0 ? 0 : first > second ? 2 : 1);
    const Factors<T> got = factored(2, 1, 1, a);
    EXPECT_EQ(got.r, std::vector<T>(20, second == 0 ? norm : -norm)) << first << ", " << second;
    EXPECT_EQ(got.taus, std::vector<T>(20, tau)) << first << ", " << second;
  }
}

TYPED_TEST(SmallQr, DenormalColumns) {
  using T = TypeParam;
  const T least = std::numeric_limits<T>::denorm_min();
  for (int64_t members : {3, 37}) {
    std::vector<T> a(as_size(members * 2));
    for (int64_t i = 0; i < members; ++i) {
      a[as_size(2 * i)] = 3 * least;
      a[as_size(2 * i + 1)] = 4 * least;
    }
    const Factors<T> got = factored(2, 1, 1, a);
    for (int64_t i = 0; i < members; ++i) {
      EXPECT_EQ(got.r[as_size(i)], -5 * least);
      EXPECT_NEAR(got.q[as_size(2 * i)], -0.6, 1e-6);
      EXPECT_NEAR(got.q[as_size(2 * i + 1)], -0.8, 1e-6);
    }
    // The square of the second element is less than any number: the reflector is still none of the
    // identity.
    for (int64_t i = 0; i < members; ++i) a[as_size(2 * i)] = 1;
    EXPECT_EQ(factored(2, 1, 1, a).r, std::vector<T>(as_size(members), -1));
  }
}

// Where a column is zero below the diagonal, the reflector is the identity, and an infinity in
// another column stays what it is.
TYPED_TEST(SmallQr, ZerosBelowTheDiagonal) {
  using T = TypeParam;
  for (int64_t members : {1, 19}) {
    std::vector<T> a = random<T>(6, 4, members, 9);
    for (int64_t e = 0; e < members * 24; ++e) {
      const int64_t i = e / 4 % 6, j = e % 4, member = e / 24;
      if (i > j && (member % 3 == 0 || j == 1)) a[as_size(e)] = 0;
      if (i == 0 && j == 3 && member % 3 == 0) a[as_size(e)] = std::numeric_limits<T>::infinity();
      if (i == 2 && j == 2 && member % 2 == 0) a[as_size(e)] = 0;
    }
    const Factors<T> got = factored(6, 4, 4, a), want = expected(6, 4, 4, a);
    for (int64_t member = 0; member < members; member += 3) {
      for (int64_t e = member * 24; e < (member + 1) * 24; ++e) {
        ASSERT_EQ(got.packed[as_size(e)], a[as_size(e)]);
        ASSERT_EQ(got.q[as_size(e)], e / 4 % 6 == e % 4 ? 1 : 0);
      }
      for (int64_t k = 0; k < 4; ++k) ASSERT_EQ(got.taus[as_size(member * 4 + k)], 0);
    }
    for (size_t e = 0; e < got.r.size(); ++e) {
      if (!std::isfinite(want.r[e])) continue;
      ASSERT_NEAR(got.r[e], want.r[e], 1e-4) << e;
    }
  }
}

// Where LAPACK's results are not finite, these are not. (There are fewer of them, because BLAS
// leaves out products with zeros.) Columns before that of a NaN or an infinity are not affected.
TYPED_TEST(SmallQr, NanAndInfinity) {
  using T = TypeParam;
  for (T special : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()})
    for (int64_t members : {1, 37})
      for (int64_t at = 0; at < 20; ++at) {
        std::vector<T> a = random<T>(5, 4, members, 13);
        for (int64_t member = 0; member < members; member += 2)
          a[as_size(member * 20 + at)] = special;
        const Factors<T> got = factored(5, 4, 4, a), want = expected(5, 4, 4, a);
        for (size_t e = 0; e < got.packed.size(); ++e)
          ASSERT_TRUE(std::isfinite(got.packed[e])
                          ? std::isfinite(want.packed[e])
                          : static_cast<int64_t>(e) % 4 >= at % 4 && e / 20 % 2 == 0)
              << special << " at " << at << ": " << e << ": " << got.packed[e] << ", not "
              << want.packed[e];
      }
}

TEST(SmallQrSizes, OthersAreLeftToLapack) {
  for (const auto& [m, n] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {3, 0}, {33, 2}, {2, 40}})
    EXPECT_FALSE(is_small_qr(m, n));
}

}  // namespace
}  // namespace tessera::testing_ops::small_qr_test
