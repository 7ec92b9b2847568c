// Slices of concatenations and of slices: tests which ops are left, and that no bit of the results
// changes.
#include "tessera/fusion/rewrites/simplify_slices.h"

#include "fusion_testing.h"
#include "tessera/fusion/rewrites/simplify.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::fusion_testing::simplify_slices_test {

using namespace fusion;

namespace {

using namespace array_math;

// Returns the ops after simplification, and compares the results.
template <class F>
std::vector<Op> left(const std::vector<Type>& types, F body) {
  const Function f = trace(types, body), simple = simplify(f);
  const std::vector<Literal> inputs = random_inputs(f);
  EXPECT_EQ(evaluate(simple, inputs), evaluate(f, inputs));
  return simple.ops;
}
size_t count(const std::vector<Op>& ops, const OpDef& def) {
  return static_cast<size_t>(
      std::count_if(ops.begin(), ops.end(), [&](const Op& op) { return op.def == &def; }));
}

const std::vector<Type> kTypes = {f32({3, 5}), f32({4, 5}), f32({0, 5})};

// Returns the ops of rows begin:end:stride of a concatenation of three rows and four.
std::vector<Op> rows(int64_t begin, int64_t end, int64_t stride = 1) {
  return left(kTypes, [=](const Arrays& x) {
    return Arrays{
        lax::slice_in_dim(lax::concatenate(std::vector{x[0], x[1]}, 0), begin, end, stride, 0)};
  });
}

TEST(SimplifySlices, AnOperandOfAConcatenationIsRead) {
  EXPECT_TRUE(rows(0, 3).empty());
  EXPECT_TRUE(rows(3, 7).empty());
}

TEST(SimplifySlices, APartOfAnOperandIsASliceOfIt) {
  for (const auto& [begin, end, stride] :
       {std::tuple{0, 2, 1}, {1, 3, 1}, {4, 7, 1}, {3, 7, 3}, {2, 5, 3}, {0, 3, 2}, {0, 3, 4}}) {
    SCOPED_TRACE(begin);
    const std::vector<Op> ops = rows(begin, end, stride);
    EXPECT_EQ(count(ops, concatenate_op), 0u);
    EXPECT_EQ(count(ops, slice_op), 1u);
  }
}

TEST(SimplifySlices, PartsOfTwoOperandsStay) {
  EXPECT_EQ(count(rows(2, 4), concatenate_op), 1u);
  EXPECT_EQ(count(rows(0, 7, 4), concatenate_op), 1u);
}

TEST(SimplifySlices, ColumnsOfRowsPutTogetherStay) {
  const std::vector<Op> ops = left(kTypes, [](const Arrays& x) {
    return Arrays{lax::slice_in_dim(lax::concatenate(std::vector{x[0], x[1]}, 0), 1, 3, 1, 1)};
  });
  EXPECT_EQ(count(ops, concatenate_op), 1u);
}

TEST(SimplifySlices, OperandsWithoutElementsAreDropped) {
  EXPECT_TRUE(left(kTypes, [](const Arrays& x) {
                return Arrays{lax::concatenate(std::vector{x[2], x[0], x[2]}, 0)};
              }).empty());
}

TEST(SimplifySlices, ASliceOfASliceIsOne) {
  const std::vector<Op> ops = left({f32({60})}, [](const Arrays& x) {
    return Arrays{lax::slice_in_dim(lax::slice_in_dim(x[0], 3, 47, 5), 2, 9, 2)};
  });
  ASSERT_EQ(ops.size(), 1u);
  const SliceParams& p = *as_slice(ops[0]);
  EXPECT_EQ(p.start, Dims{13});
  EXPECT_EQ(p.limit, Dims{44});
  EXPECT_EQ(p.strides, Dims{10});
}

// JAX writes the gradient of an unrolled loop in this form.
TEST(SimplifySlices, WhatAnUnrolledLoopKeepsIsNotPutTogether) {
  const std::vector<Op> ops = left({f32({100}), f32({0, 100})}, [](const Arrays& x) {
    std::vector<Array> kept = {x[1]};
    Array y = x[0];
    for (int k = 0; k < 4; ++k) kept.push_back(lax::reshape(y = y * x[0], {1, 100}));
    const Array all = lax::concatenate(kept, 0);
    Array sum = y;
    for (int k = 0; k < 4; ++k) sum = sum + lax::reshape(lax::slice_in_dim(all, k, k + 1), {100});
    return Arrays{sum};
  });
  EXPECT_EQ(ops.size(), 8u);  // four products and four sums
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_slices_test
