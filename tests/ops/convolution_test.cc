// Errors for every constraint of convolutions; paddings by name.
#include "tessera/ops/linear/convolution.h"

#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::convolution_test {

using namespace ops;

namespace {

class Convolution : public HostTest {
 protected:
  static Array zeros(DType dtype, const Shape& shape) { return Array(Literal(dtype, shape)); }
  static Type type(DType dtype, const Shape& shape) { return {.dtype = dtype, .shape = shape}; }
  // Two spatial dimensions; the batch is the first dimension and the features are the second.
  static ConvolutionParams plain() {
    const Dims nchw{0, 1, 2, 3};
    return {{1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, {0, 0}, nchw, nchw, nchw};
  }
  static std::vector<Type> infer(const ConvolutionParams& p, const Type& lhs, const Type& rhs) {
    const std::vector<Type> types{lhs, rhs};
    return convolution_op.infer(types, p);
  }
  const Type image = type(float32, {2, 4, 6, 6}), kernel = type(float32, {8, 4, 3, 3});
  const Array x = zeros(float32, {2, 4, 6, 6}), w = zeros(float32, {8, 4, 3, 3});
};

TEST_F(Convolution, Shapes) {
  EXPECT_EQ(infer(plain(), image, kernel)[0].shape, Shape({2, 8, 4, 4}));
  EXPECT_EQ(lax::conv(x, w, {2, 1}, "SAME").shape(), Shape({2, 8, 3, 6}));
  EXPECT_EQ(lax::conv(x, w, {2, 1}, "VALID").shape(), Shape({2, 8, 2, 4}));
}

TEST_F(Convolution, RefusesOperandsThatDoNotFit) {
  const std::vector<Type> one{image};
  EXPECT_USER_ERROR(convolution_op.infer(one, plain()), "[convolution] expected 2 operands, got 1");
  EXPECT_USER_ERROR(infer(plain(), image, type(float64, {8, 4, 3, 3})),
                    "expected operands of one dtype (C27), got float32[2,4,6,6] and "
                    "float64[8,4,3,3]; convert one of them");
  EXPECT_USER_ERROR(infer(plain(), type(bool_, {2, 4, 6, 6}), type(bool_, {8, 4, 3, 3})),
                    "expected numbers, got bool[2,4,6,6]; convert it first");
  EXPECT_USER_ERROR(infer(plain(), image, type(float32, {8, 4, 3})),
                    "expected operands of one rank of at least 2 (C1), got float32[2,4,6,6] and "
                    "float32[8,4,3]");
  EXPECT_USER_ERROR(infer(plain(), type(float32, {4}), type(float32, {4})),
                    "expected operands of one rank of at least 2 (C1)");
  EXPECT_USER_ERROR(infer(plain(), image, type(float32, {8, 3, 3, 3})),
                    "expected a kernel of 4 input features (C14): those of float32[2,4,6,6] in 1 "
                    "groups, got float32[8,3,3,3]");
}

TEST_F(Convolution, RefusesResultsOfAnotherKind) {
  ConvolutionParams p = plain();
  p.result = int32;
  EXPECT_USER_ERROR(infer(p, image, kernel),
                    "expected a result dtype of the kind of float32[2,4,6,6], got int32");
  p.result = float32;
  EXPECT_USER_ERROR(infer(p, type(int32, {2, 4, 6, 6}), type(int32, {8, 4, 3, 3})),
                    "expected a result dtype of the kind of int32[2,4,6,6], got float32");
  EXPECT_USER_ERROR(infer(p, type(complex64, {2, 4, 6, 6}), type(complex64, {8, 4, 3, 3})),
                    "expected a result dtype of the kind of complex64[2,4,6,6], got float32");
}

TEST_F(Convolution, RefusesParamsThatDoNotFit) {
  for (Dims ConvolutionParams::*spec :
       {&ConvolutionParams::lhs_spec, &ConvolutionParams::rhs_spec, &ConvolutionParams::out_spec}) {
    ConvolutionParams p = plain();
    p.*spec = {0, 1, 2, 2};
    EXPECT_USER_ERROR(
        infer(p, image, kernel),
        "expected dimension numbers that name 4 dimensions each (C13, C18, C20), got");
    p.*spec = {0, 1, 2};
    EXPECT_USER_ERROR(infer(p, image, kernel), "expected dimension numbers");
  }
  ConvolutionParams p = plain();
  p.reversal = {0};
  EXPECT_USER_ERROR(infer(p, image, kernel), "expected 2 flags of reversal (C10), got (0,)");
  p = plain();
  p.strides = {1};
  EXPECT_USER_ERROR(infer(p, image, kernel), "expected 2 strides, one a dimension");
  p.strides = {1, 0};
  EXPECT_USER_ERROR(infer(p, image, kernel), "expected strides > 0, got (1, 0)");
  p = plain();
  p.lhs_dilation = {0, 1};
  EXPECT_USER_ERROR(infer(p, image, kernel), "expected base dilations > 0, got (0, 1)");
  p = plain();
  p.rhs_dilation = {1, -1};
  EXPECT_USER_ERROR(infer(p, image, kernel), "expected window dilations > 0, got (1, -1)");
  p = plain();
  p.low = {1};
  EXPECT_USER_ERROR(infer(p, image, kernel), "expected 2 paddings, one a dimension");
}

TEST_F(Convolution, RefusesGroupsThatDoNotDivide) {
  ConvolutionParams p = plain();
  p.feature_group_count = 0;
  EXPECT_USER_ERROR(infer(p, image, kernel), "expected group counts > 0 (C21, C22), got 0 and 1");
  p.feature_group_count = p.batch_group_count = 2;
  EXPECT_USER_ERROR(infer(p, image, kernel),
                    "expected groups of features or of the batch, not both (C23), got 2 and 2");
  p.batch_group_count = 1;
  p.feature_group_count = 3;
  EXPECT_USER_ERROR(infer(p, image, kernel),
                    "expected 3 feature and 1 batch groups to divide float32[2,4,6,6] and "
                    "float32[8,4,3,3] (C10..C16)");
  p.feature_group_count = 1;
  p.batch_group_count = 3;
  EXPECT_USER_ERROR(infer(p, image, kernel), "expected 1 feature and 3 batch groups to divide");
}

TEST_F(Convolution, RefusesLayoutsAndPaddingsItDoesNotKnow) {
  const lax::Padding none{{0, 0}, {0, 0}};
  EXPECT_USER_ERROR(lax::conv_general_dilated(x, w, {1, 1}, none, {.lhs_layout = "NHWD"}),
                    "[conv_general_dilated] expected a layout with 'C', got \"NHWD\"");
  EXPECT_USER_ERROR(
      lax::conv_general_dilated(x, w, {1, 1}, none, {.lhs_layout = "NCHW", .rhs_layout = "OIHD"}),
      "expected layouts of the same spatial dimensions, got no 'D' in \"NCHW\"");
  EXPECT_USER_ERROR(lax::conv_general_dilated(x, w, {1, 1}, none, {.out_layout = "NC"}),
                    "expected a layout of 4 dimensions, got \"NC\"");
  EXPECT_USER_ERROR(lax::conv(x, w, {1, 1}, "FULL"),
                    "expected padding SAME, SAME_LOWER or VALID, got \"FULL\"");
  EXPECT_USER_ERROR(lax::conv(x, w, {1}, "SAME"),
                    "expected operands of rank 3 for strides (1,), got float32[2,4,6,6] and "
                    "float32[8,4,3,3]");
  EXPECT_USER_ERROR(lax::conv_transpose(x, w, {1, 1}, "FULL"),
                    "[conv_transpose] expected padding SAME or VALID, got \"FULL\"");
  const Array deep = zeros(float32, {1, 2, 2, 2, 2, 2});
  EXPECT_USER_ERROR(lax::conv_transpose(deep, deep, {1, 1, 1, 1}, "SAME"),
                    "expected 0 to 3 spatial dimensions, got float32[1,2,2,2,2,2]");
}

}  // namespace
}  // namespace tessera::testing_ops::convolution_test
