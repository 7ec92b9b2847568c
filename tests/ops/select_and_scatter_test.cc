// Errors for every constraint of select_and_scatter.
#include "tessera/ops/reductions/select_and_scatter.h"

#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::select_and_scatter_test {

using namespace ops;

namespace {

class SelectAndScatter : public HostTest {
 protected:
  static Array zeros(DType dtype, const Shape& shape) { return Array(Literal(dtype, shape)); }
  static SelectAndScatterParams plain() { return {{2}, {2}, {0}, {0}}; }
  static Array apply(const Array& x, const Array& source, const Array& init,
                     const SelectAndScatterParams& p = plain()) {
    return bind_op1(select_and_scatter_op, p, {x, source, init});
  }
  const Array x = zeros(float32, {4}), source = zeros(float32, {2}), init = zeros(float32, {});
};

TEST_F(SelectAndScatter, RefusesOperandsThatDoNotFit) {
  EXPECT_EQ(apply(x, source, init).shape(), Shape({4}));
  const std::vector<Array> two{x, source};
  EXPECT_USER_ERROR(bind_op(select_and_scatter_op, plain(), two),
                    "[select_and_scatter] expected 3 operands, got 2");
  EXPECT_USER_ERROR(apply(x, zeros(int32, {2}), init),
                    "expected a source and an initial scalar of dtype float32 (C3), got int32[2] "
                    "and float32[]");
  EXPECT_USER_ERROR(apply(x, source, zeros(int32, {})), "got float32[2] and int32[]");
  EXPECT_USER_ERROR(apply(x, source, zeros(float32, {1})), "got float32[2] and float32[1]");
  EXPECT_USER_ERROR(apply(x, zeros(float32, {3}), init),
                    "expected a source of the windows' shape (2,) (C2), got float32[3]");
  EXPECT_USER_ERROR(apply(zeros(complex64, {4}), zeros(complex64, {2}), zeros(complex64, {})),
                    "expected an array with an order, got complex64[4]");
  SelectAndScatterParams p = plain();
  p.size = {0};
  EXPECT_USER_ERROR(apply(x, source, init, p), "expected window sizes > 0, got (0,)");
}

TEST_F(SelectAndScatter, RefusesDerivativesItDoesNotHave) {
  SelectAndScatterParams p = plain();
  p.scatter = reduce_body(ReduceKind::kProduct, float32);
  const std::vector<Array> operands{x, source, init}, tangents{Array(), source, Array()};
  EXPECT_USER_ERROR(select_and_scatter_op.jvp(operands, tangents, p),
                    "expected a sum to differentiate, got a scatter computation of its own");
  p = plain();
  p.kind = SelectKind::kCustom;
  p.select = select_body(SelectKind::kGe, float32);
  const std::vector<Array> cts{x};
  EXPECT_USER_ERROR(select_and_scatter_op.transpose(cts, operands, {false, true, false}, p),
                    "expected the largest or smallest element to be selected to differentiate");
}

TEST_F(SelectAndScatter, RefusesInitialValuesOfTheirOwnUnderVmap) {
  const std::vector<Array> operands{zeros(float32, {3, 4}), zeros(float32, {3, 2}),
                                    zeros(float32, {3})};
  const std::vector<int> dims{0, 0, 0};
  EXPECT_USER_ERROR(select_and_scatter_op.batch(operands, dims, plain()),
                    "expected an initial value that is the same for every example of vmap");
}

}  // namespace
}  // namespace tessera::testing_ops::select_and_scatter_test
