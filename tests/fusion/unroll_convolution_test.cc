#include "tessera/ops/linear/unroll_convolution.h"

#include "tessera/ops/linear/convolution.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::unroll_convolution_test {
namespace {

struct Filter {
  std::vector<Type> types;
  Dims strides;
  lax::Padding padding;
  lax::ConvOptions options = {};
};

auto body_of(const Filter& f) {
  return [=](const Arrays& x) {
    return Arrays{lax::conv_general_dilated(x[0], x[1], f.strides, f.padding, f.options)};
  };
}
void expect_filter(const Filter& f, Keeps keeps = Keeps::kValues) {
  SCOPED_TRACE(::testing::Message() << f.types[0].shape << " by " << f.types[1].shape);
  expect_unrolled("convolution", f.types, body_of(f), keeps);
}
std::vector<Type> both(DType dtype, const Shape& x, const Shape& w) {
  return {array_type(dtype, x), array_type(dtype, w)};
}

TEST(UnrollConvolution, OneFeature) {
  expect_filter({both(float32, {1, 1, 40}, {1, 1, 5}), {1}, {{4, 4}}});
  expect_filter({both(float64, {2, 1, 9, 8}, {1, 1, 3, 3}), {1, 2}, {{1, 1}, {0, 2}}});
  expect_filter({both(int32, {1, 1, 40}, {1, 1, 5}), {3}, {{0, 0}}}, Keeps::kBits);
  expect_filter({both(bfloat16, {1, 1, 40}, {1, 1, 5}), {1}, {{0, 0}}});
  expect_filter({both(complex64, {1, 1, 12}, {1, 1, 3}), {1}, {{0, 0}}});
}

TEST(UnrollConvolution, Layouts) {
  for (const char* out : {"NHWC", "NCHW", "HWNC"}) {
    const lax::ConvOptions options{.lhs_layout = "NHWC", .rhs_layout = "HWIO", .out_layout = out};
    expect_filter({both(float64, {2, 5, 6, 1}, {3, 2, 1, 1}), {1, 1}, {{0, 0}, {1, 0}}, options});
  }
}

TEST(UnrollConvolution, DilatedKernels) {
  expect_filter({both(float64, {1, 1, 20}, {1, 1, 4}), {1}, {{2, 3}}, {.rhs_dilation = {3}}});
}

TEST(UnrollConvolution, ReversedKernels) {
  for (const int64_t n : {5, 150}) {
    const ConvolutionParams p{.strides = {1},
                              .low = {2},
                              .high = {2},
                              .lhs_dilation = {1},
                              .rhs_dilation = {1},
                              .reversal = {1},
                              .lhs_spec = {0, 1, 2},
                              .rhs_spec = {0, 1, 2},
                              .out_spec = {0, 1, 2},
                              .result = float64};
    expect_unrolled(
        "convolution", both(float64, {1, 1, n}, {1, 1, n}),
        [&](const Arrays& x) { return bind_op(convolution_op, p, x); }, Keeps::kValues);
  }
}

TEST(UnrollConvolution, AKernelForEachFeature) {
  expect_filter({both(float64, {2, 3, 9}, {3, 1, 4}), {1}, {{1, 2}}, {.feature_group_count = 3}});
}

TEST(UnrollConvolution, GradientsByKernelsOfSeparateFeatures) {
  lax::ConvOptions options{
      .lhs_layout = "CHWN", .rhs_layout = "IHWO", .out_layout = "HWNC", .batch_group_count = 5};
  const Dims ones{1, 1};
  expect_filter({both(float32, {2, 3, 3, 5}, {2, 3, 3, 5}), ones, {{1, 1}, {1, 1}}, options});
  expect_filter({both(float32, {1, 2, 2, 5}, {1, 2, 2, 5}), ones, {{1, 1}, {0, 1}}, options});
  expect_filter({both(float64, {2, 4, 5, 5}, {2, 4, 5, 5}), ones, {{1, 1}, {1, 1}}, options});
  // oneDNN computes images of more pixels than the kernel. The last one has too many terms.
  for (const Shape& x : {Shape{2, 3, 4, 5}, Shape{15, 3, 3, 5}}) {
    const Filter f{both(float32, x, x), ones, {{1, 1}, {1, 1}}, options};
    expect_kept("convolution", f.types, body_of(f));
  }
  options.rhs_dilation = {2, 2};  // of a convolution with strides
  expect_filter({both(float32, {2, 4, 4, 5}, {2, 2, 2, 5}), ones, {{0, 1}, {0, 1}}, options});
  options.out_layout = "NCHW";
  expect_filter({both(float32, {2, 4, 4, 5}, {2, 2, 2, 5}), ones, {{0, 1}, {0, 1}}, options});
  // Features that are not last, and several results of a feature.
  for (const char* lhs : {"CNHW", "NHWC"}) {
    const Shape x = lhs[0] == 'C' ? Shape{2, 5, 4, 4} : Shape{5, 4, 4, 2};
    options.lhs_layout = lhs;
    const Filter f{both(float32, x, {2, 2, 2, 5}), ones, {{0, 1}, {0, 1}}, options};
    expect_kept("convolution", f.types, body_of(f));
  }
  options.lhs_layout = "CHWN";
  const Filter twice{both(float32, {2, 4, 4, 5}, {2, 2, 2, 10}), ones, {{0, 1}, {0, 1}}, options};
  expect_kept("convolution", twice.types, body_of(twice));
}

TEST(UnrollConvolution, AKernelAsLargeAsTheSignalIsASumForEachResult) {
  expect_filter({both(float64, {1, 1, 200}, {1, 1, 196}), {1}, {{2, 1}}});
  expect_filter({both(float64, {1, 1, 20, 19}, {1, 1, 18, 17}), {1, 2}, {{0, 0}, {0, 0}}});
  expect_filter({both(float64, {1, 1, 403}, {1, 1, 200}), {1}, {{0, 0}}, {.rhs_dilation = {2}}});
  // How an element is computed does not depend on the size of the batch.
  expect_filter({both(float64, {3, 1, 200}, {1, 1, 196}), {1}, {{2, 1}}});
  expect_filter({both(float64, {40, 1, 20, 19}, {1, 1, 18, 17}), {1, 2}, {{0, 0}, {0, 0}}});
  for (const char* out : {"NHWC", "HWNC"}) {
    const lax::ConvOptions options{.lhs_layout = "NHWC", .rhs_layout = "HWIO", .out_layout = out};
    expect_filter(
        {both(float64, {2, 13, 14, 1}, {11, 13, 1, 1}), {1, 1}, {{0, 0}, {1, 0}}, options});
  }
}

TEST(UnrollConvolution, LeftToTheLibrary) {
  const auto kept = [](const Filter& f) { expect_kept("convolution", f.types, body_of(f)); };
  kept({both(float64, {1, 2, 9}, {1, 2, 3}), {1}, {{0, 0}}});
  kept({both(float64, {1, 1, 9}, {2, 1, 3}), {1}, {{0, 0}}});
  kept({both(float64, {1, 1, 9}, {1, 1, 3}), {1}, {{0, 0}}, {.lhs_dilation = {2}}});
  kept({both(float64, {1, 1, 900}, {1, 1, 129}), {1}, {{0, 0}}});
  kept({both(float32, {1, 2, 9}, {2, 1, 3}), {1}, {{0, 0}}, {.feature_group_count = 2}});
}

TEST(UnrollConvolution, LongLinesOfFloat64AreLeftToSlidingSums) {
  const Filter filter{both(float64, {1, 1, 5000}, {1, 1, 9}), {1}, {{0, 0}}};
  expect_kept("convolution", filter.types, body_of(filter));
  expect_filter({both(float64, {1, 1, 5000}, {1, 1, 7}), {1}, {{0, 0}}});
  expect_filter({both(float64, {1, 1, 4000}, {1, 1, 9}), {1}, {{0, 0}}});
  expect_filter({both(float64, {1, 1, 9000}, {1, 1, 9}), {2}, {{0, 0}}});
  expect_filter({both(float32, {1, 1, 5000}, {1, 1, 9}), {1}, {{0, 0}}});
}

}  // namespace
}  // namespace tessera::fusion_testing::unroll_convolution_test
