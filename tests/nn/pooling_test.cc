// Compares pooling with flax.linen (golden/make_modules.py).
#include "tessera/nn/pooling.h"

#include <map>

#include "cases.h"
#include "gmock/gmock.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::pooling_test {
namespace {

using tessera::test::error_of;
using tessera::test::expect_close;
using tessera::test::modules;
using ::testing::HasSubstr;

TEST(Pooling, IsFlaxs) {
  const nn::Padding same = nn::Padding::kSame, widths{{{1, 0}, {2, 1}}};
  const auto max = [](const Dims& window, const nn::PoolOptions& o) {
    return [=](const Array& x) { return nn::max_pool(x, window, o); };
  };
  const auto min = [](const Dims& window, const nn::PoolOptions& o) {
    return [=](const Array& x) { return nn::min_pool(x, window, o); };
  };
  const auto avg = [](const Dims& window, const nn::AvgPoolOptions& o) {
    return [=](const Array& x) { return nn::avg_pool(x, window, o); };
  };
  const std::map<std::string, std::function<Array(const Array&)>> calls{
      {"max", max({2, 2}, {.strides = {2, 2}})},
      {"max_overlapping", max({3, 2}, {})},
      {"max_same", max({3, 3}, {.strides = {2, 2}, .padding = same})},
      {"max_padding", max({2, 3}, {.strides = {1, 2}, .padding = widths})},
      {"max_ties", max({2, 2}, {.strides = {2, 2}})},
      {"max_ties_large", max({5, 4}, {})},
      {"max_no_batch", max({2, 2}, {})},
      {"max_two_batches", max({4}, {.strides = {3}})},
      {"min", min({2, 2}, {.strides = {2, 2}})},
      {"min_same", min({3, 2}, {.padding = same})},
      {"avg", avg({2, 2}, {.strides = {2, 2}})},
      {"avg_same", avg({3, 3}, {.strides = {2, 2}, .padding = same})},
      {"avg_not_pad",
       avg({3, 3}, {.strides = {2, 1}, .padding = same, .count_include_pad = false})},
      {"avg_padding", avg({2, 3}, {.padding = widths, .count_include_pad = false})},
      {"avg_two_batches", avg({4}, {.strides = {3}, .padding = same})}};
  ASSERT_EQ(modules()["pooling"].size(), calls.size());
  for (const golden::Json& c : modules()["pooling"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const auto& pool = calls.at(c["name"].get<std::string>());
    const Array x(modules().array(c["inputs"][0]));
    expect_close(pool(x).to_host(), modules().array(c["out"]), 1e-6, 1e-6);
    expect_close(jit(pool)(x).to_host(), modules().array(c["out"]), 1e-6, 1e-6);
    const auto loss = [&](const Array& v) { return sum(square(pool(v))); };
    expect_close(jit([&](const Array& v) { return grad(loss)(v); })(x).to_host(),
                 modules().array(c["grad"]), 1e-5, 1e-5);
  }
}

TEST(Pooling, OfIntegersAndNothing) {
  const Array x = array({{{3}, {1}, {2}, {5}}});
  expect_close(nn::max_pool(x, {2}, {.strides = {2}}).to_host(), array({{{3}, {5}}}).to_host());
  expect_close(nn::min_pool(x, {3}).to_host(), array({{{1}, {1}}}).to_host());
  EXPECT_EQ(nn::max_pool(zeros({1, 2, 1}), {3}).shape(), Shape({1, 0, 1}));
  EXPECT_EQ(nn::avg_pool(zeros({0, 4, 1}), {2}).shape(), Shape({0, 3, 1}));
}

TEST(Pooling, MisfitsAreErrors) {
  const Array x = ones({1, 5, 5, 4});
  EXPECT_THAT(error_of([&] {
                nn::max_pool(x, {2, 2, 2, 2});
              }),
              HasSubstr("[max_pool] expected inputs of 4 spatial dimensions and features, got "
                        "shape (1, 5, 5, 4)"));
  EXPECT_THAT(error_of([&] {
                nn::min_pool(x, {2, 2}, {.strides = {2}});
              }),
              HasSubstr("[min_pool] expected strides of 2 dimensions, as the window (2, 2), got "
                        "(2,)"));
  EXPECT_THAT(error_of([&] {
                nn::avg_pool(x, {2, 0});
              }),
              HasSubstr("[avg_pool] expected a positive window and strides, got (2, 0)"));
  EXPECT_THAT(error_of([&] {
                nn::max_pool(
                    x, {2, 2},
                    {.padding = nn::Padding(std::vector<std::pair<int64_t, int64_t>>{{1, 1}})});
              }),
              HasSubstr("expected padding of 2 dimensions, as the window (2, 2), got 1"));
  EXPECT_THAT(error_of([&] {
                nn::max_pool(x, {2, 2}, {.padding = nn::Padding::kCausal});
              }),
              HasSubstr("expected padding kSame, kValid or widths"));
  EXPECT_THAT(error_of([&] {
                nn::max_pool(ones({4, 1}, complex64), {2});
              }),
              HasSubstr("expected real numbers, got complex64[4,1]"));
  EXPECT_THAT(error_of([&] {
                nn::avg_pool(ones({4, 1}, int32), {2});
              }),
              HasSubstr("[avg_pool] expected a floating-point or complex array, got int32[4,1]"));
}

}  // namespace
}  // namespace tessera::pooling_test
