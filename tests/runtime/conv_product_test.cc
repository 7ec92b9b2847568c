// Which convolutions are products, and that they have the bits of sums in order for any number of
// images.
#include "tessera/runtime/convolutions/conv_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tessera/base/thread_pool.h"
#include "tessera/runtime/products/gemm_panels.h"

namespace tessera::conv_product_test {

using namespace runtime;

namespace {

struct Case {
  Shape image;  // batch, rows, columns, features
  int64_t outputs;
  int64_t window = 1, low = 0, stride = 1, groups = 1;
  bool features_first = false;
};

ConvShape shape_of(const Case& c) {
  ConvolutionParams p;
  p.lhs_spec = p.out_spec = c.features_first ? Dims{0, 1, 2, 3} : Dims{0, 3, 1, 2};
  p.rhs_spec = {3, 2, 0, 1};
  p.strides = {c.stride, c.stride};
  p.low = p.high = {c.low, c.low};
  p.lhs_dilation = p.rhs_dilation = {1, 1};
  p.reversal = {0, 0};
  p.feature_group_count = c.groups;
  const auto out = [&](int64_t n) { return (n + 2 * c.low - c.window) / c.stride + 1; };
  Shape image = c.image, result{c.image[0], out(c.image[1]), out(c.image[2]), c.outputs};
  if (c.features_first) {
    image = {image[0], image[3], image[1], image[2]};
    result = {result[0], result[3], result[1], result[2]};
  }
  return conv_shape(p, image, {c.window, c.window, c.image[3] / c.groups, c.outputs}, result);
}
bool is_product(const Case& c) { return ConvProduct::make(shape_of(c)).has_value(); }

TEST(ConvProduct, IsForFewPixels) {
  if (!has_gemm_rows()) GTEST_SKIP() << "there are no such products without AVX-512";
  EXPECT_TRUE(is_product({{2, 1, 1, 1024}, 1000}));
  EXPECT_TRUE(is_product({{2, 4, 4, 96}, 96}));
  EXPECT_FALSE(is_product({{2, 2, 2, 512}, 512}));                  // a large kernel
  EXPECT_FALSE(is_product({{2, 4, 5, 96}, 96}));                    // many pixels
  EXPECT_FALSE(is_product({{2, 3, 3, 96}, 96, 3}));                 // a window
  EXPECT_FALSE(is_product({{2, 3, 3, 96}, 96, 1, 1}));              // padding
  EXPECT_FALSE(is_product({{2, 3, 3, 96}, 96, 1, 0, 2}));           // strides
  EXPECT_FALSE(is_product({{2, 3, 3, 96}, 96, 1, 0, 1, 2}));        // groups
  EXPECT_FALSE(is_product({{2, 1, 1, 96}, 15}));                    // few features
  EXPECT_FALSE(is_product({{2, 2, 2, 96}, 96, 1, 0, 1, 1, true}));  // an order of its own
}

std::vector<float> numbers(int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = normal(random);
  return out;
}

TEST(ConvProduct, HasTheBitsOfSumsInOrder) {
  if (!has_gemm_rows()) GTEST_SKIP() << "there are no such products without AVX-512";
  std::mt19937 random(3);
  for (const Case& c : {Case{{1, 1, 1, 1024}, 1000},
                        {{2, 1, 1, 576}, 144},
                        {{3, 1, 1, 40}, 1601},
                        {{7, 1, 1, 33}, 17},
                        {{5, 4, 4, 24}, 72},
                        {{40, 2, 2, 96}, 100}}) {
    const int64_t rows = c.image.elements() / c.image[3], terms = c.image[3], n = c.outputs;
    const std::vector<float> x = numbers(rows * terms, random), w = numbers(terms * n, random);
    std::vector<float> want;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < terms; ++k)
          sum = std::fma(x[static_cast<size_t>(i * terms + k)], w[static_cast<size_t>(k * n + j)],
                         sum);
        want.push_back(sum);
      }
    for (int round = 0; round < 3; ++round) {
      std::vector<float> got(want.size());
      ConvProduct::make(shape_of(c))->run(x.data(), w.data(), got.data());
      EXPECT_TRUE(got == want) << c.image << " to " << n;
      parallel_for(2, [](int64_t) {});  // the next one may find threads awake
    }
  }
}

}  // namespace
}  // namespace tessera::conv_product_test
