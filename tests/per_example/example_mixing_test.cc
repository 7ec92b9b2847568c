// Losses in the form that users write are in tests/privacy/one_example_test.cc.
#include "tessera/per_example/example_mixing.h"

#include <gtest/gtest.h>

#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/trace/trace.h"

namespace tessera::per_example::example_mixing_test {
namespace {

using namespace ir;

constexpr int64_t kSize = 53;

// Returns what find_mixing finds in fn(x), x of [53, 4, 6]; "" if it finds nothing.
std::string found(const std::function<Array(const Array&)>& fn, bool follow_sums = true) {
  const Function f =
      tracing::trace_function([&](const std::vector<Array>& x) { return std::vector{fn(x[0])}; },
                              std::vector<Type>{{.dtype = float32, .shape = {kSize, 4, 6}}})
          .function;
  const auto mixing =
      find_mixing(f, {.of_examples = {true}, .size = kSize, .follow_sums = follow_sums});
  return mixing ? mixing->what : "";
}

// The dimension of examples is found again after reshapes that join and split dimensions.
TEST(ExampleMixing, ReshapesKeepTheExamplesApart) {
  const auto flipped = [](const Shape& shape, int64_t dim) {
    return found([&](const Array& x) { return lax::rev(lax::reshape(x, shape), {dim}); });
  };
  EXPECT_EQ(flipped({kSize, 24}, 1), "");
  EXPECT_EQ(flipped({kSize, 24}, 0), "reverse runs along the dimension of examples");
  EXPECT_EQ(flipped({kSize * 4, 6}, 1), "");
  EXPECT_EQ(flipped({kSize * 4, 6}, 0), "reverse runs along the dimension of examples");
  EXPECT_EQ(flipped({2, kSize, 12}, 0), "reshape spreads examples over dimensions of others");
  EXPECT_EQ(found([](const Array& x) {
              const Array rows = lax::reshape(x, {kSize * 4, 6});
              return lax::rev(lax::reshape(lax::exp(rows), {kSize, 4, 6}), {1, 2});
            }),
            "");
}

TEST(ExampleMixing, SlicesTakeAPlaceOfEachOrOneExample) {
  const auto sliced = [](int64_t start, int64_t limit, int64_t step) {
    return found([=](const Array& x) {
      return lax::slice_in_dim(lax::reshape(x, {kSize * 4, 6}), start, limit, step, 0);
    });
  };
  EXPECT_EQ(sliced(1, kSize * 4, 4), "");  // token 1 of each example
  EXPECT_EQ(sliced(0, 4, 1), "");          // the first example
  EXPECT_EQ(sliced(0, kSize * 2, 1), "slice takes some of the examples");
  EXPECT_EQ(sliced(0, kSize * 4, 8), "slice takes some of the examples");
}

TEST(ExampleMixing, SumsOverExamplesStayLinear) {
  const auto sum = [](const Array& x, const Dims& dims) { return lax::reduce_sum(x, dims); };
  EXPECT_EQ(found([&](const Array& x) { return lax::neg(sum(lax::exp(x), {0})); }), "");
  EXPECT_EQ(found([&](const Array& x) { return lax::exp(sum(x, {0})); }),
            "exponential is not linear and follows a sum over the dimension of examples");
  EXPECT_EQ(found([&](const Array& x) { return lax::exp(sum(x, {0})); }, false), "");
  EXPECT_EQ(found([&](const Array& x) { return lax::exp(sum(x, {0, 1})); }), "");
  const auto centered = [&](const Array& x, const Dims& dims, const Dims& kept) {
    return lax::sub(x, lax::broadcast_in_dim(sum(x, dims), x.shape(), kept));
  };
  EXPECT_EQ(found([&](const Array& x) { return lax::exp(centered(x, {1}, {0, 2})); }), "");
  EXPECT_EQ(found([&](const Array& x) { return sum(centered(x, {0}, {1, 2}), {0}); }), "");
  EXPECT_EQ(found([&](const Array& x) {
              return lax::exp(centered(x, {0}, {1, 2}));
            }),
            "exponential combines each example with a value that reads all of them");
}

TEST(ExampleMixing, WhatNoOutputReadsIsNotLookedAt) {
  EXPECT_EQ(found([](const Array& x) {
              lax::rev(x, {0});
              return lax::exp(x);
            }),
            "");
}

}  // namespace
}  // namespace tessera::per_example::example_mixing_test
