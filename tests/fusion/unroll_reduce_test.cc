#include "tessera/ops/reductions/unroll_reduce.h"

#include "tessera/ops/reductions/reduce.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::unroll_reduce_test {
namespace {

// Returns a fold that starts with an argument.
auto body_of(ReduceKind kind, const Dims& dims) {
  return [=](const Arrays& x) {
    return Arrays{lax::reduce({&x[0], 1}, {&x[1], 1}, kind, dims)[0]};
  };
}

TEST(UnrollReduce, FewIntegersAndBools) {
  using enum ReduceKind;
  for (const auto& [shape, dims] : std::vector<std::pair<Shape, Dims>>{
           {{5, 1}, {1}}, {{5, 2}, {1}}, {{3, 4}, {0}}, {{4}, {0}}, {{2, 5, 2}, {0, 2}}}) {
    for (ReduceKind kind : {kSum, kProduct, kMin, kMax, kAnd, kOr})
      for (DType dtype : {int32, uint8, int64})
        expect_unrolled("reduce", {array_type(dtype, shape), array_type(dtype, {})},
                        body_of(kind, dims));
    for (ReduceKind kind : {kAnd, kOr})
      expect_unrolled("reduce", {array_type(bool_, shape), array_type(bool_, {})},
                      body_of(kind, dims));
  }
}

TEST(UnrollReduce, OneNumber) {
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProduct})
    for (DType dtype : {float32, float64, complex64}) {
      expect_unrolled("reduce", {array_type(dtype, {5, 1}), array_type(dtype, {})},
                      body_of(kind, {1}));
      expect_unrolled("reduce", {array_type(dtype, {1, 5, 1}), array_type(dtype, {})},
                      body_of(kind, {0, 2}));
    }
}

TEST(UnrollReduce, OthersAreKept) {
  const Type start = array_type(int32, {});
  const auto sum = [](const Dims& dims) { return body_of(ReduceKind::kSum, dims); };
  expect_kept("reduce", {array_type(int32, {3, 5}), start}, sum({1}));
  expect_kept("reduce", {array_type(int32, {3, 2}), start}, sum({0, 1}));
  expect_kept("reduce", {array_type(int32, {3, 0}), start}, sum({1}));
  expect_kept("reduce", {f32({3, 2}), f32({})}, sum({1}));
  // Half the width is rounded at the end of a fold, and an extremum decides between zeros.
  expect_kept("reduce", {array_type(bfloat16, {3, 1}), array_type(bfloat16, {})}, sum({1}));
  expect_kept("reduce", {f32({3, 1}), f32({})}, body_of(ReduceKind::kMax, {1}));
}

}  // namespace
}  // namespace tessera::fusion_testing::unroll_reduce_test
