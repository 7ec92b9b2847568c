#include "tessera/runtime/products/dot_shape.h"

#include <gtest/gtest.h>

#include "tessera/base/instructions.h"

namespace tessera::dot_shape_test {

using namespace runtime;

namespace {

DotStep step_of(const Dims& lhs_contract, const Dims& rhs_contract) {
  DotStep step;
  step.lhs_contract = lhs_contract;
  step.rhs_contract = rhs_contract;
  return step;
}

// The values of such products are in dot_test.cc.
TEST(DotShape, SmallProductsOfRowsAroundTheSumAreABatch) {
  if (!has_avx2()) GTEST_SKIP() << "there are no small products without AVX2";
  for (DType dtype : {float32, float64}) {
    const DotShape shape = dot_shape(step_of({2}, {0}), {10, 3, 32, 4}, {32, 8}, dtype);
    EXPECT_EQ(shape.batch, 30);
    EXPECT_EQ(shape.m, 4);
    EXPECT_EQ(shape.n, 8);
    EXPECT_EQ(shape.k, 32);
    EXPECT_FALSE(shape.lhs.packed());
    EXPECT_EQ(shape.lhs.row_stride, 1);
    EXPECT_EQ(shape.lhs.col_stride, 4);
    ASSERT_EQ(shape.lhs.batch_offsets.size(), 30u);
    EXPECT_EQ(shape.lhs.batch_offsets[29], 29 * 32 * 4);
    EXPECT_EQ(shape.rhs.batch_offsets, std::vector<int64_t>(30, 0));
  }
}

// Interpolation of images (2, rows, 224, 3) along their rows: the last two dimensions are copied
// together.
TEST(DotShape, DimensionsThatAreAdjacentAreCopiedTogether) {
  const DotShape shape = dot_shape(step_of({0}, {1}), {50, 97}, {2, 50, 224, 3}, float32);
  EXPECT_FALSE(shape.lhs.packed());
  EXPECT_EQ(shape.rhs.pack_extents, (Shape{50, 2, 672}));
  EXPECT_EQ(shape.rhs.pack_strides, (Dims{672, 50 * 672, 1}));
}

TEST(DotShape, OtherProductsPackTheirRows) {
  const auto packs = [](const DotStep& step, const Shape& lhs, const Shape& rhs, DType dtype) {
    const DotShape shape = dot_shape(step, lhs, rhs, dtype);
    return shape.batch == 1 && shape.lhs.packed();
  };
  EXPECT_TRUE(packs(step_of({1}, {0}), {10, 32, 4}, {32, 8}, bfloat16));
  EXPECT_TRUE(packs(step_of({1}, {0}), {10, 32, 4}, {32, 8}, int32));
  EXPECT_TRUE(packs(step_of({1}, {0}), {10, 80, 4}, {80, 8}, float32));   // long sums
  EXPECT_TRUE(packs(step_of({1}, {0}), {10, 32, 40}, {32, 8}, float32));  // large products
  EXPECT_TRUE(packs(step_of({1}, {1}), {10, 32, 4}, {8, 32}, float32));   // rhs is transposed
  DotStep exact = step_of({1}, {0});
  exact.sum = ops::DotSum::kInvariant;
  EXPECT_TRUE(packs(exact, {10, 32, 4}, {32, 8}, float32));
}

}  // namespace
}  // namespace tessera::dot_shape_test
