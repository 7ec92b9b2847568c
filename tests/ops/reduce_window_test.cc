// Every constraint of reduce_window and of what is made of it, violated.
#include "tessera/ops/reduce_window.h"

#include "tessera/ops/select_and_scatter.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops {
namespace {

class ReduceWindow : public HostTest {
 protected:
  static Array zeros(DType dtype, const Shape& shape) { return Array(Literal(dtype, shape)); }
  static std::vector<Array> fold(const std::vector<Array>& x, const std::vector<Array>& inits,
                                 ReduceKind kind = ReduceKind::kSum,
                                 const Windows& windows = Windows::of_size({2})) {
    return lax::reduce_window(x, inits, kind, windows);
  }
  const Array f3 = zeros(float32, {3}), i3 = zeros(int32, {3}), c3 = zeros(complex64, {3}),
              b3 = zeros(bool_, {3}), f = zeros(float32, {}), i = zeros(int32, {}),
              c = zeros(complex64, {});
};

TEST_F(ReduceWindow, RefusesOperandsThatDoNotFit) {
  EXPECT_USER_ERROR(fold({f3}, {}),
                    "[reduce_window] expected arrays and as many initial scalars (C1), got 1");
  EXPECT_USER_ERROR(fold({}, {}), "as many initial scalars (C1), got 0 operands");
  EXPECT_USER_ERROR(fold({f3, zeros(float32, {4})}, {f, f}), "expected operands of one shape");
  EXPECT_USER_ERROR(fold({f3}, {i}), "expected an initial scalar of dtype float32, got int32[]");
  EXPECT_USER_ERROR(fold({f3}, {zeros(float32, {1})}),
                    "expected an initial scalar of dtype float32, got float32[1]");
  EXPECT_USER_ERROR(fold({f3, f3}, {f, f}), "expected 1 operand(s) for this fold, got 2");
  EXPECT_USER_ERROR(fold({f3}, {f}, ReduceKind::kArgMax),
                    "expected 2 operand(s) for this fold, got 1");
}

TEST_F(ReduceWindow, RefusesDtypesThatTheFoldDoesNotTake) {
  EXPECT_USER_ERROR(fold({c3, i3}, {c, i}, ReduceKind::kArgMax),
                    "expected an array with an order, got complex64[3]");
  EXPECT_USER_ERROR(fold({f3, f3}, {f, f}, ReduceKind::kArgMin),
                    "expected places of int32 or int64, got float32[3]");
  EXPECT_USER_ERROR(fold({f3}, {f}, ReduceKind::kAnd),
                    "expected a bool or integer array, got float32[3]");
  EXPECT_USER_ERROR(
      lax::reduce_window(std::vector<Array>{f3}, std::vector<Array>{f},
                         select_body(SelectKind::kGe, float32), Windows::of_size({2})),
      "expected a body of two scalars an operand (C13), got another");
}

TEST_F(ReduceWindow, RefusesWindowsThatDoNotFit) {
  EXPECT_USER_ERROR(fold({f3}, {f}, ReduceKind::kSum, Windows::of_size({2, 2})),
                    "expected 1 window sizes, one a dimension of shape (3,), got (2, 2)");
  const auto with = [&](Dims Windows::*field, const Dims& value) {
    Windows w = Windows::of_size({2});
    w.*field = value;
    fold({f3}, {f}, ReduceKind::kSum, w);
  };
  EXPECT_USER_ERROR(with(&Windows::size, {0}), "expected window sizes > 0, got (0,)");
  EXPECT_USER_ERROR(with(&Windows::strides, {0}), "expected strides > 0, got (0,)");
  EXPECT_USER_ERROR(with(&Windows::base_dilation, {-1}), "expected base dilations > 0, got (-1,)");
  EXPECT_USER_ERROR(with(&Windows::window_dilation, {0}), "expected window dilations > 0");
  EXPECT_USER_ERROR(with(&Windows::low, {1, 1}),
                    "expected 1 paddings, one a dimension of shape (3,), got (1, 1) and (0,)");
}

TEST_F(ReduceWindow, RefusesDerivativesItDoesNotHave) {
  const auto jvp = [&](ReduceKind kind, const Array& t, const Array& t_init) {
    const Windows w = Windows::of_size({2});
    const std::vector<Array> x{f3, f}, tangents{t, t_init};
    return internal::jvp_reduce_window(
        x, tangents, {w.size, w.strides, w.base_dilation, w.window_dilation, w.low, w.high, kind});
  };
  EXPECT_USER_ERROR(jvp(ReduceKind::kSum, f3, f),
                    "expected an initial value without a tangent to differentiate; apply it after");
  EXPECT_USER_ERROR(jvp(ReduceKind::kProduct, f3, {}),
                    "expected a sum, min, max or cumulative product to differentiate");
}

TEST_F(ReduceWindow, RefusesInitialValuesOfTheirOwnUnderVmap) {
  const Windows w = Windows::of_size({2});
  const std::vector<Array> x{zeros(float32, {4, 3}), zeros(float32, {4})};
  const std::vector<int> dims{0, 0};
  const ReduceWindowParams p{w.size, w.strides, w.base_dilation, w.window_dilation, w.low, w.high};
  EXPECT_USER_ERROR(reduce_window_op.batch.fn(x, dims, p),
                    "expected initial values that are the same for every example of vmap");
}

TEST_F(ReduceWindow, CumulativeFoldsRefuseWhatHasNoSum) {
  EXPECT_USER_ERROR(lax::cumsum(b3), "[cumsum] expected numbers, got bool[3]; convert them");
  EXPECT_USER_ERROR(lax::cumprod(f3, 1), "[cumprod] ");
  EXPECT_USER_ERROR(
      lax::cumlogsumexp(i3),
      "[cumlogsumexp] expected a floating-point or complex array, got int32[3]; convert it");
}

}  // namespace
}  // namespace tessera::testing_ops
