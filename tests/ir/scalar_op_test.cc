// Tests the columns of the table of scalar operations, and which operands the check accepts.
#include "tessera/ir/scalar_op.h"

#include <gtest/gtest.h>

#include <set>

#include "tessera/base/error.h"

namespace tessera::scalar_op_test {

using namespace ir;

namespace {

using enum ScalarOp;

constexpr ScalarOp kAll[] = {
#define SCALAR_OP(op, ...) op,
#include "tessera/ir/scalar_ops.def"
#undef SCALAR_OP
};

void expect_fits(ScalarOp op, DType result, const std::vector<DType>& args) {
  EXPECT_NO_THROW(verify_scalar_op(op, result, args)) << scalar_op_name(op);
}
void expect_refused(ScalarOp op, DType result, const std::vector<DType>& args,
                    const std::string& text) {
  try {
    verify_scalar_op(op, result, args);
    ADD_FAILURE() << scalar_op_name(op) << " passed, expected: " << text;
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
  }
}

TEST(ScalarOp, NamesAreDifferent) {
  std::set<std::string_view> names;
  for (ScalarOp op : kAll) EXPECT_TRUE(names.insert(scalar_op_name(op)).second);
}

// Fusion would repeat an operation without a cost any number of times.
TEST(ScalarOp, EveryRowHasCosts) {
  for (ScalarOp op : kAll) {
    const ScalarOpInfo& info = scalar_op_info(op);
    EXPECT_GT(info.cost.work, 0) << info.name;
    EXPECT_GT(info.cost.ns, 0) << info.name;
    EXPECT_GE(info.cost.of_float64, info.cost.of_float32) << info.name;
    if (info.kinds & dtype_kinds::kInt) {
      EXPECT_GT(info.cost.of_integers, 0) << info.name;
    }
    if (info.kinds & dtype_kinds::kFloat) {
      EXPECT_GT(info.cost.of_float32, 0) << info.name;
    }
  }
}

TEST(ScalarOp, OperandsOfEachSignature) {
  expect_fits(kExp, float32, {float32});
  expect_fits(kAdd, int8, {int8, int8});
  expect_fits(kFma, float64, {float64, float64, float64});
  expect_fits(kIsFinite, bool_, {bfloat16});
  expect_fits(kLt, bool_, {int32, int32});
  expect_fits(kSelect, complex64, {bool_, complex64, complex64});
  expect_fits(kConvert, float16, {int64});
  expect_fits(kBitcast, float16, {uint16});
  expect_fits(kComplex, complex64, {float32, float32});
  expect_fits(kImag, float64, {complex128});
}

TEST(ScalarOp, OperandsThatDoNotFit) {
  expect_refused(kAdd, float32, {float32}, "add of 1 operands");
  expect_refused(kExp, float64, {float32}, "exp of float32 gives float64");
  expect_refused(kAdd, int8, {int8, int16}, "add of int8, int16 gives int8");
  expect_refused(kIsFinite, float32, {float32}, "is_finite of float32 gives float32");
  expect_refused(kEq, bool_, {int8, int16}, "eq of int8, int16 gives bool");
  expect_refused(kSelect, int8, {int8, int8, int8}, "select of int8, int8, int8 gives int8");
  expect_refused(kBitcast, float32, {uint16}, "bitcast of uint16 gives float32");
  expect_refused(kComplex, complex64, {float64, float64}, "gives complex64");
  expect_refused(kReal, float64, {complex64}, "real of complex64 gives float64");
  expect_refused(kExp, int32, {int32}, "exp is not defined for int32");
  expect_refused(kAnd, float32, {float32, float32}, "and is not defined for float32");
  expect_refused(kLt, bool_, {complex64, complex64}, "lt is not defined for complex64");
  expect_refused(kNeg, bool_, {bool_}, "neg is not defined for bool");
}

}  // namespace
}  // namespace tessera::scalar_op_test
