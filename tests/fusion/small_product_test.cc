#include "tessera/fusion/kernels/small_product.h"

#include "fusion_testing.h"

namespace tessera::fusion_testing::small_product_test {

using namespace fusion;

namespace {

using namespace array_math;

std::string steps(const Shape& lhs, const Shape& rhs, const lax::DotDims& dims,
                  DType dtype = float32) {
  return outline(
      check(trace({array_type(dtype, lhs), array_type(dtype, rhs)},
                  [&](const Arrays& x) { return Arrays{lax::dot_general(x[0], x[1], dims)}; })));
}

TEST(SmallProduct, OfMatricesUpTo512Multiplications) {
  const lax::DotDims dims{.lhs_contract = {1}, .rhs_contract = {0}};
  EXPECT_EQ(steps({8, 8}, {8, 8}, dims), "kernel (8, 8) lanes; loop (8,) sum; loop () store\n");
  EXPECT_EQ(steps({3, 3}, {3, 3}, dims, float64),
            "kernel (3, 3) lanes; loop (3,) sum; loop () store\n");
  EXPECT_EQ(steps({8, 9}, {9, 8}, dims), "dot\n");
  EXPECT_EQ(steps({3, 3}, {3, 3}, dims, bfloat16), "dot\n");
}

TEST(SmallProduct, OfAMatrixAndAVector) {
  const lax::DotDims rows{.lhs_contract = {1}, .rhs_contract = {0}},
      columns{.lhs_contract = {0}, .rhs_contract = {0}};
  for (const DType dtype : {float32, float64, int32, int64}) {
    EXPECT_THAT(steps({256, 256}, {256}, rows, dtype), testing::StartsWith("kernel"));
    EXPECT_THAT(steps({128, 128}, {128}, columns, dtype), testing::StartsWith("kernel"));
  }
  EXPECT_THAT(steps({64, 1024}, {1024}, rows, float64), testing::StartsWith("kernel"));
  EXPECT_EQ(steps({256, 257}, {257}, rows), "dot\n");
  EXPECT_EQ(steps({128, 129}, {128}, columns), "dot\n");
  EXPECT_EQ(steps({4, 1025}, {1025}, rows), "dot\n");
  EXPECT_THAT(steps({2, 2048}, {2048}, rows), testing::StartsWith("kernel"));
  EXPECT_EQ(steps({8, 8}, {8}, rows, int8), "dot\n");
}

TEST(SmallProduct, OfBatches) {
  EXPECT_EQ(steps({100, 5, 5}, {100, 5, 5},
                  {.lhs_contract = {2}, .rhs_contract = {1}, .lhs_batch = {0}, .rhs_batch = {0}}),
            "kernel (100, 5, 5) lanes; loop (5,) sum; loop () store\n");
  // The batch is the second dimension of one operand.
  EXPECT_EQ(steps({4, 100, 5}, {100, 5, 3},
                  {.lhs_contract = {2}, .rhs_contract = {1}, .lhs_batch = {1}, .rhs_batch = {0}}),
            "kernel (100, 4, 3) lanes; loop (5,) sum; loop () store\n");
  EXPECT_EQ(steps({100, 7, 7}, {100, 7, 7},
                  {.lhs_contract = {2}, .rhs_contract = {1}, .lhs_batch = {0}, .rhs_batch = {0}}),
            "dot\n");
}

TEST(SmallProduct, OfColumnsThatAreNotContiguousTheLibrary) {
  EXPECT_EQ(steps({4, 5}, {3, 4}, {.lhs_contract = {0}, .rhs_contract = {1}}), "dot\n");
}

TEST(SmallProduct, OfRandomDimensions) {
  std::mt19937 engine(7);
  const auto below = [&](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
  int kernels = 0;
  for (int k = 0; k < 200; ++k) {
    const int batches = below(3), contracted = 1 + below(2), rows = below(3), columns = below(3);
    Shape lhs, rhs;
    lax::DotDims dims;
    const auto add = [&](Shape& shape, int64_t extent) {
      shape.push_back(extent);
      return static_cast<int64_t>(shape.size()) - 1;
    };
    for (int i = 0; i < rows; ++i) add(lhs, 1 + below(4));
    for (int i = 0; i < batches; ++i) {
      const int64_t extent = 1 + below(5);
      dims.lhs_batch.push_back(add(lhs, extent));
      dims.rhs_batch.push_back(add(rhs, extent));
    }
    for (int i = 0; i < contracted; ++i) {
      const int64_t extent = 1 + below(5);
      dims.lhs_contract.push_back(add(lhs, extent));
      dims.rhs_contract.push_back(add(rhs, extent));
    }
    for (int i = 0; i < columns; ++i) add(rhs, 1 + below(4));
    SCOPED_TRACE(fmt::format("{} {}", lhs, rhs));
    kernels += steps(lhs, rhs, dims).starts_with("kernel") ? 1 : 0;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(kernels, 50);
}

}  // namespace
}  // namespace tessera::fusion_testing::small_product_test
