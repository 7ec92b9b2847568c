#include "tessera/ops/reductions/unroll_folds.h"

#include "tessera/ops/reductions/reduce_window.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::unroll_folds_test {
namespace {

struct Pool {
  ReduceKind kind;
  Type type;
  Windows windows;
};

Windows of(Dims size, Dims strides) {
  Windows w = Windows::of_size(size);
  w.strides = std::move(strides);
  return w;
}
auto body_of(const Pool& pool) {
  return
      [=](const Arrays& x) { return Arrays{lax::reduce_window_of(pool.kind, x[0], pool.windows)}; };
}
void expect_fold(const Pool& pool, Keeps keeps = Keeps::kBits) {
  SCOPED_TRACE(::testing::Message() << pool.type.shape << " by " << pool.windows.size);
  expect_unrolled("reduce_window", {pool.type}, body_of(pool), keeps);
}

constexpr ReduceKind kSum = ReduceKind::kSum, kMax = ReduceKind::kMax, kMin = ReduceKind::kMin;

TEST(UnrollFolds, SmallWindowsHaveTheSameBits) {
  expect_fold({kMax, f32({2, 8, 6, 3}), of({1, 2, 2, 1}, {1, 2, 2, 1})});
  expect_fold({kSum, f32({2, 8, 6, 3}), of({1, 3, 3, 1}, {1, 1, 1, 1})});
  expect_fold({kMin, array_type(int32, {9, 7}), of({3, 2}, {2, 3})});
  expect_fold({ReduceKind::kProduct, array_type(float64, {9}), of({4}, {1})});
  expect_fold({ReduceKind::kOr, array_type(bool_, {9}), of({3}, {1})});
  expect_fold({ReduceKind::kAnd, array_type(int32, {9}), of({3}, {1})});
  expect_fold({kSum, array_type(complex64, {9}), of({3}, {2})});
  expect_fold({kMax, array_type(bfloat16, {9}), of({3}, {2})});
}

TEST(UnrollFolds, PaddingAndDilation) {
  Windows w = of({3, 2}, {2, 1});
  w.window_dilation = {2, 1};
  w.low = {1, 0};
  w.high = {2, 1};
  expect_fold({kMax, f32({9, 5}), w});
  expect_fold({kSum, f32({9, 5}), w});
  w.low = {-1, 0};  // a row is cut off
  expect_fold({kMax, f32({9, 5}), w});
}

// A sum of 16-bit numbers must be rounded only once.
TEST(UnrollFolds, HalvesAreSummedInFloat32) {
  expect_fold({kSum, array_type(bfloat16, {64}), of({9}, {1})}, Keeps::kValues);
}

TEST(UnrollFolds, OneDimensionAfterTheOther) {
  expect_fold({kMax, f32({12, 11}), of({5, 4}, {1, 2})});
  expect_fold({kSum, array_type(float64, {12, 11}), of({5, 4}, {1, 2})}, Keeps::kValues);
  expect_fold({kMax, f32({6, 6, 6}), of({3, 3, 3}, {1, 1, 1})});
}

TEST(UnrollFolds, LongWindowsSlide) {
  for (int64_t size : {17, 31, 32, 33}) {
    expect_fold({kMax, f32({80}), of({size}, {1})});
    expect_fold({kSum, array_type(int32, {80, 2}), of({size, 1}, {2, 1})});
    Windows w = of({size}, {1});
    w.low = {size - 1};
    w.window_dilation = {2};
    expect_fold({kSum, array_type(float64, {80}), w}, Keeps::kValues);
  }
}

TEST(UnrollFolds, DilatedElementsByRemainder) {
  for (int64_t low : {0, 1, 3})
    for (int64_t size : {1, 2, 3, 5}) {
      Windows w = Windows::of_size({size, size});
      w.base_dilation = {2, 3};
      w.low = {low, 0};
      w.high = {2, low};
      expect_fold({kSum, array_type(int32, {5, 4}), w});
      expect_fold({kMax, f32({5, 4}), w});
    }
}

// Windows as long as the dilation have one element each, so any length is unrolled.
TEST(UnrollFolds, DilatedElementsThatAreRepeated) {
  for (int64_t size : {5, 20}) {
    Windows w = Windows::of_size({size, size});
    w.base_dilation = {size, size};
    w.low = w.high = {size - 1, size - 1};
    expect_fold({kSum, f32({3, 4}), w});
  }
}

TEST(UnrollFolds, InitialValuesOtherThanTheIdentity) {
  for (int64_t size : {3, 20})
    expect_unrolled("reduce_window", {array_type(int32, {40}), array_type(int32, {})},
                    [&](const Arrays& x) {
                      return lax::reduce_window(std::span(&x[0], 1), std::span(&x[1], 1), kSum,
                                                Windows::of_size({size}));
                    });
}

TEST(UnrollFolds, LeftToTheLibrary) {
  const auto kept = [](const Pool& pool) {
    expect_kept("reduce_window", {pool.type}, body_of(pool));
  };
  Windows cumulative = Windows::of_size({9});
  cumulative.low = {8};
  kept({kSum, f32({9}), cumulative});
  kept({kSum, f32({200}), of({50}, {50})});  // windows that hardly overlap
  kept({kMax, array_type(complex64, {9}), of({3}, {1})});
  Windows w = Windows::of_size({3});
  w.base_dilation = {2};
  w.strides = {2};
  kept({kSum, f32({9}), w});
  w = Windows::of_size({30});
  w.base_dilation = {20};  // windows of one element and of two: too many kinds
  kept({kSum, f32({9}), w});
}

}  // namespace
}  // namespace tessera::fusion_testing::unroll_folds_test
