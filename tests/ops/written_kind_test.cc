// The kinds of fold bodies, by the op that they consist of.
#include "tessera/ops/reductions/written_kind.h"

#include <gtest/gtest.h>

#include "tessera/ir/op_def.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::written_kind_test {

using namespace ops;

namespace {

// Returns the function op(x, y), or op(y, x), of two scalars.
Function body_of(const OpDef& op, DType dtype, bool swapped = false) {
  Function f;
  const ValueId x = f.add_input({.dtype = dtype, .shape = {}}),
                y = f.add_input({.dtype = dtype, .shape = {}});
  const ValueIds operands = swapped ? ValueIds{y, x} : ValueIds{x, y};
  f.outputs.push_back(
      f.add_op(op, op.params, operands, infer_types(op, f.types_of(operands), op.params))[0]);
  return f;
}

TEST(WrittenKind, IsTheOpsName) {
  EXPECT_EQ(written_kind(body_of(add_op, float32)), ReduceKind::kSum);
  EXPECT_EQ(written_kind(body_of(min_op, float32)), ReduceKind::kMin);
  EXPECT_EQ(written_kind(body_of(sub_op, float32)), ReduceKind::kCustom);
  EXPECT_EQ(written_kind(Function()), ReduceKind::kCustom);
}

// For bools and complex numbers, classify_reduce_body has another name for the same op, or none.
TEST(WrittenKind, KeepsExtremaOfBoolsAndComplexNumbers) {
  for (const DType dtype : {bool_, complex64}) {
    EXPECT_EQ(written_kind(body_of(min_op, dtype)), ReduceKind::kMin);
    EXPECT_EQ(written_kind(body_of(max_op, dtype)), ReduceKind::kMax);
    EXPECT_NE(classify_reduce_body(body_of(min_op, dtype)), ReduceKind::kMin);
    EXPECT_NE(classify_reduce_body(body_of(max_op, dtype)), ReduceKind::kMax);
  }
}

TEST(WrittenKind, OneOpTakesItsInputsInOrder) {
  EXPECT_TRUE(is_one_op(body_of(add_op, float32)));
  EXPECT_FALSE(is_one_op(body_of(add_op, float32, true)));
  Function twice = body_of(add_op, float32);
  twice.outputs[0] = twice.inputs[0];
  EXPECT_FALSE(is_one_op(twice));
  EXPECT_FALSE(is_one_op(Function()));
}

}  // namespace
}  // namespace tessera::written_kind_test
