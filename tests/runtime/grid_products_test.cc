#include "tessera/runtime/products/grid_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tessera::runtime::grid_products_test {
namespace {

const std::byte* bytes(const void* p) { return static_cast<const std::byte*>(p); }

// Whole numbers are exact in float32, so products have one value, even if they are half-way between
// two steps.
std::vector<float> numbers(int64_t count, float unit, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = unit * static_cast<float>(static_cast<int64_t>(random() % 401) - 200);
  return out;
}

TEST(GridProducts, AreSumsOfRoundedProducts) {
  for (const int64_t m : {1, 4, 7, 33})
    for (const int64_t n : {1, 16, 45})
      for (const int64_t examples : {1, 5, 40})
        for (const int64_t terms : {1, 2, 33}) {
          const int64_t k = examples * terms;
          const std::vector<float> a = numbers(m * k, .5f, 1), b = numbers(n * k, .25f, 2);
          std::vector<double> c(static_cast<size_t>(m * n), 7);
          for (bool accumulate : {false, true})
            grid_products(m, n, examples, terms, {bytes(a.data()), 1, m}, {bytes(b.data()), n, 1},
                          c.data(), n, accumulate);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              double sum = 0;
              for (int64_t e = 0; e < examples; ++e) {
                double product = 0;
                for (int64_t l = e * terms; l < (e + 1) * terms; ++l)
                  product += double{a[static_cast<size_t>(l * m + i)]} *
                             double{b[static_cast<size_t>(l * n + j)]};
                sum += std::nearbyint(product);
              }
              ASSERT_EQ(c[static_cast<size_t>(i * n + j)], 2 * sum)
                  << m << " x " << n << ", " << examples << " examples of " << terms;
            }
        }
}

TEST(GridProducts, RoundUpToTheLargest) {
  const std::vector<float> a{0x1p11f, -0x1p11f, 1.5f, 2.5f}, b{0x1.ffep10f, 0x1.ffep10f, 1, 1};
  std::vector<double> c(1);
  grid_products(1, 1, 4, 1, {bytes(a.data()), 4, 1}, {bytes(b.data()), 1, 1}, c.data(), 1, false);
  EXPECT_EQ(c[0], 4);  // ties to even: 2 + 2
}

}  // namespace
}  // namespace tessera::runtime::grid_products_test
