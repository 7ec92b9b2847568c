#include "tessera/fusion/kernels/short_row_pieces.h"

#include <gtest/gtest.h>

#include "fusion_testing.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"

namespace tessera::fusion_testing::short_row_pieces_test {

using namespace array_math;

namespace {

Array column(const Array& x, int64_t k) { return lax::slice_in_dim(x, k, k + 1, 1, 1); }

// The sum of three arrays of `columns` columns, each of which is zero except for one column. This
// column is a determinant of columns of the arguments.
Arrays put_into_columns(const Arrays& x, int64_t columns) {
  Array sum;
  for (int64_t k = 0; k < 3; ++k) {
    const int64_t i = (k + 1) % 3, j = (k + 2) % 3;
    const Array value = column(x[0], i) * -column(x[1], j) -
                        column(x[0], j) * -column(x[1], i) * (column(x[0], k) + 1.F);
    const Array padded = lax::pad(value, lax::full({}, 0, float32), {0, k}, {0, columns - 1 - k});
    sum = sum.defined() ? sum + padded : padded;
  }
  return {sum};
}

size_t kernels(const Type& x, int64_t columns) {
  return check(trace({x, x}, [&](const Arrays& a) { return put_into_columns(a, columns); }))
      .steps.size();
}

TEST(ShortRowPieces, AColumnComputesWhatIsPutIntoIt) {
  const Type x = f32({20000, 3});
  const Schedule s = check(trace({x, x}, [](const Arrays& a) { return put_into_columns(a, 3); }));
  ASSERT_EQ(s.steps.size(), 1u) << to_string(s);
  const Kernel& kernel = std::get<KernelStep>(s.steps[0]).kernel;
  EXPECT_EQ(kernel.parallel, Dims({20000}));
  int products = 0;
  for (const KernelNode& node : kernel.nodes) {
    EXPECT_FALSE(node.kind == NodeKind::kScalarOp && node.op == ScalarOp::kSelect);
    products += node.kind == NodeKind::kScalarOp &&
                (node.op == ScalarOp::kMul || node.op == ScalarOp::kFma);
  }
  EXPECT_EQ(products, 9);  // three for each column
}

// Rows that are not unrolled would compute all values for all columns.
TEST(ShortRowPieces, OtherRowsStoreThem) {
  EXPECT_GT(kernels(f32({20000, 3}), 17), 1u);
  EXPECT_GT(kernels(f32({20000, 30}), 3), 1u);  // columns that are far apart
  EXPECT_EQ(kernels(f32({20000, 3}), 16), 1u);
}

// Pieces that also divide the columns.
TEST(ShortRowPieces, PartsOfColumnsAreStored) {
  const Type x = f32({20000, 3});
  const auto schedule = [&](int64_t rows_before) {
    return check(trace({x, x}, [&](const Arrays& a) {
      Array sum;
      for (int64_t k = 0; k < 3; ++k) {
        const Array value =
            column(a[0], k) * -column(a[1], k) * column(a[1], 2 - k) * (column(a[0], 1) + 1.F);
        const Array padded =
            lax::pad(value, lax::full({}, 0, float32), {rows_before, k}, {0, 2 - k});
        sum = sum.defined() ? sum + padded : padded;
      }
      return Arrays{sum};
    }));
  };
  EXPECT_EQ(schedule(0).steps.size(), 1u);
  EXPECT_GT(schedule(100).steps.size(), 1u);
}

}  // namespace
}  // namespace tessera::fusion_testing::short_row_pieces_test
