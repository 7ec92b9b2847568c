#include "tessera/ops/reductions/fold_parts.h"

#include "unroll_testing.h"

namespace tessera::fusion_testing::fold_parts_test {

using namespace array_math;

namespace {

// Composes functions x -> a x + b, which are pairs (a, b). This is associative, not commutative.
FunctionRef composition(DType dtype) {
  const std::vector<Type> scalars(4, array_type(dtype, {}));
  return std::make_shared<const Function>(trace(scalars, [](const Arrays& x) {
    return Arrays{x[0] * x[2], x[1] * x[2] + x[3]};
  }));
}

void expect_folded(const Shape& shape, const Dims& dims) {
  SCOPED_TRACE(::testing::Message() << shape << " over " << dims);
  const std::vector<Type> types{array_type(int32, shape), array_type(int32, shape),
                                array_type(int32, {}), array_type(int32, {})};
  const FunctionRef body = composition(int32);
  for (const size_t result : {0, 1}) {
    const auto fold = [&](const Arrays& x) {
      return Arrays{
          lax::reduce(std::span(x).first(2), std::span(x).subspan(2), body, dims)[result]};
    };
    expect_unrolled("reduce", types, fold);
    check(trace(types, fold));
  }
}

TEST(FoldParts, KeepTheOrderOfElements) {
  for (int64_t n : {1, 2, 3, 16, 17, 100, 5000}) expect_folded({n}, {0});
  expect_folded({3, 200}, {1});
  expect_folded({200, 3}, {0});
  expect_folded({4, 5, 60}, {0, 2});
  expect_folded({4, 5, 60}, {2, 0});
  expect_folded({2, 1500}, {0});
  expect_folded({1500, 2}, {0, 1});
}

// A body that is commutative is folded in any order, which is faster.
TEST(FoldParts, NotOfCommutativeBodies) {
  const std::vector<Type> scalars(2, f32({}));
  const auto body = std::make_shared<const Function>(trace(
      scalars, [](const Arrays& x) { return Arrays{lax::max(lax::abs(x[0]), lax::abs(x[1]))}; }));
  expect_kept("reduce", {f32({100}), f32({})}, [&](const Arrays& x) {
    return lax::reduce(std::span(x).first(1), std::span(x).subspan(1), body, {0});
  });
}

}  // namespace
}  // namespace tessera::fusion_testing::fold_parts_test
