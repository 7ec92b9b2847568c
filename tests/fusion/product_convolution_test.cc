#include "tessera/ops/linear/product_convolution.h"

#include <random>

#include "tessera/ops/linear/convolution.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::product_convolution_test {
namespace {

// A convolution with windows that do not overlap. `windows` has the number n of windows in each
// spatial dimension, `window` their length d.
struct Case {
  int64_t batch = 2, inputs = 3, outputs = 4;
  Dims windows, window;
  int64_t left = 0;  // elements behind the last window
  lax::ConvOptions options = {};
  DType dtype = float64;
};
enum class Form : uint8_t { kPatches, kTransposed, kPatchesKernel, kTransposedKernel };

Shape in_layout(std::string_view layout, int64_t first, int64_t second, const Dims& spatial,
                char first_name, char second_name) {
  Shape out;
  size_t next = 0;
  for (char c : layout)
    out.push_back(c == first_name ? first : c == second_name ? second : spatial[next++]);
  return out;
}

struct Convolution {
  std::vector<Type> types;
  std::function<Arrays(const Arrays&)> body;
};

// Returns the call of conv_general_dilated for one of the forms of product_convolution.h.
Convolution convolution_of(const Case& c, Form form) {
  const size_t rank = c.windows.size();
  const std::string_view spatial = std::string_view("DHW").substr(3 - rank);
  std::string lhs_layout(c.options.lhs_layout), rhs_layout(c.options.rhs_layout);
  if (lhs_layout.empty()) lhs_layout = "N" + std::string(spatial) + "C";
  if (rhs_layout.empty()) rhs_layout = std::string(spatial) + "IO";
  lax::ConvOptions o = c.options;
  Dims lhs, rhs, strides(rank, 1), ones(rank, 1);
  lax::Padding padding(rank, {0, 0});
  o.lhs_dilation = o.rhs_dilation = ones;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t n = c.windows[d], k = c.window[d];
    switch (form) {
      case Form::kPatches:
        lhs.push_back(n * k + std::min(c.left, k - 1));
        rhs.push_back(k);
        strides[d] = k;
        break;
      case Form::kTransposed:
        lhs.push_back(n);
        rhs.push_back(k);
        o.lhs_dilation[d] = k;
        padding[d] = {k - 1, k - 1};
        break;
      case Form::kPatchesKernel:
        lhs.push_back(n * k + c.left);
        rhs.push_back(n);
        o.rhs_dilation[d] = k;
        padding[d] = {0, -c.left};
        break;
      case Form::kTransposedKernel:
        lhs.push_back(n);
        rhs.push_back(n * k);
        o.lhs_dilation[d] = k;
        padding[d] = {k - 1, k - 1};
        break;
    }
  }
  Convolution out;
  out.types = {array_type(c.dtype, in_layout(lhs_layout, c.batch, c.inputs, lhs, 'N', 'C')),
               array_type(c.dtype, in_layout(rhs_layout, c.outputs, c.inputs, rhs, 'O', 'I'))};
  out.body = [=](const Arrays& x) {
    lax::ConvOptions options = o;
    options.lhs_layout = lhs_layout;
    options.rhs_layout = rhs_layout;
    if (options.out_layout.empty()) options.out_layout = lhs_layout;
    return Arrays{lax::conv_general_dilated(x[0], x[1], strides, padding, options)};
  };
  return out;
}

void expect_product(const Case& c, Form form) {
  const Convolution conv = convolution_of(c, form);
  SCOPED_TRACE(::testing::Message() << "form " << static_cast<int>(form) << ", "
                                    << conv.types[0].shape << " by " << conv.types[1].shape);
  expect_unrolled("convolution", conv.types, conv.body, Keeps::kValues);
  EXPECT_TRUE(has_op(unroll_windows(trace(conv.types, conv.body)), "dot_general"));
}
void expect_library(const Case& c, Form form) {
  const Convolution conv = convolution_of(c, form);
  expect_kept("convolution", conv.types, conv.body);
}

constexpr Form kProducts[] = {Form::kTransposed, Form::kPatchesKernel, Form::kTransposedKernel};

TEST(ProductConvolution, EveryForm) {
  for (Form form : kProducts) {
    expect_product({.windows = {5}, .window = {3}}, form);
    expect_product({.windows = {4, 3}, .window = {2, 2}}, form);
    expect_product({.windows = {2, 3, 4}, .window = {2, 1, 3}}, form);
    expect_product({.windows = {1, 4}, .window = {3, 2}}, form);
  }
}

TEST(ProductConvolution, RandomSizes) {
  std::mt19937 random(11);
  const auto draw = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  for (int i = 0; i < 60; ++i) {
    Case c{.batch = draw(3), .inputs = draw(5), .outputs = draw(5)};
    for (int64_t d = draw(3); d > 0; --d) {
      c.windows.push_back(draw(5));
      c.window.push_back(draw(4));
    }
    c.window[0] = std::max<int64_t>(c.window[0], 2);
    c.left = draw(3) - 1;
    expect_product(c, kProducts[i % 3]);
  }
}

TEST(ProductConvolution, Layouts) {
  for (Form form : kProducts)
    for (const char* lhs : {"NCHW", "HWNC"})
      for (const char* rhs : {"OIHW", "HOWI"})
        for (const char* out : {"NHWC", "NCHW", "WNHC"})
          expect_product({.windows = {4, 3},
                          .window = {2, 3},
                          .options = {.lhs_layout = lhs, .rhs_layout = rhs, .out_layout = out}},
                         form);
}

TEST(ProductConvolution, DTypes) {
  for (DType dtype : {float32, bfloat16, float16, complex64, int32})
    expect_product({.windows = {4, 3}, .window = {2, 2}, .dtype = dtype}, Form::kTransposedKernel);
  expect_product({.windows = {4, 3}, .window = {2, 2}, .dtype = int64}, Form::kTransposed);
}

TEST(ProductConvolution, ReversedKernels) {
  const ConvolutionParams p{.strides = {1, 1},
                            .low = {1, 2},
                            .high = {1, 2},
                            .lhs_dilation = {2, 3},
                            .rhs_dilation = {1, 1},
                            .reversal = {1, 0},
                            .lhs_spec = {0, 1, 2, 3},
                            .rhs_spec = {0, 1, 2, 3},
                            .out_spec = {0, 1, 2, 3},
                            .result = float64};
  expect_unrolled(
      "convolution", {array_type(float64, {2, 3, 4, 5}), array_type(float64, {4, 3, 2, 3})},
      [&](const Arrays& x) { return bind_op(convolution_op, p, x); }, Keeps::kValues);
}

TEST(ProductConvolution, LeftToTheLibrary) {
  const Case doubled{.windows = {4, 3}, .window = {2, 2}, .dtype = float32};
  for (Form form : {Form::kPatches, Form::kTransposed, Form::kPatchesKernel})
    expect_library(doubled, form);
  expect_library({.windows = {4, 3}, .window = {2, 2}}, Form::kPatches);
  expect_library({.windows = {4, 3}, .window = {1, 1}}, Form::kTransposedKernel);
  expect_library({.inputs = 4,
                  .windows = {4, 3},
                  .window = {2, 2},
                  .options = {.feature_group_count = 1, .batch_group_count = 2}},
                 Form::kPatchesKernel);
}

// The gradient by the kernel of a convolution by windows of one place.
TEST(ProductConvolution, SumsOfFewPixels) {
  const auto gradient = [](const Dims& image, int64_t images, DType dtype = float32) {
    Case c{.batch = 6,
           .inputs = images,
           .windows = image,
           .window = Dims(image.size(), 1),
           .options = {.lhs_layout = "CHWN", .rhs_layout = "IHWO", .out_layout = "HWNC"},
           .dtype = dtype};
    if (image.size() == 1)
      c.options = {.lhs_layout = "CWN", .rhs_layout = "IWO", .out_layout = "WCN"};
    return c;
  };
  expect_product(gradient({4, 3}, 2), Form::kPatchesKernel);
  expect_product(gradient({1, 4}, 3), Form::kPatchesKernel);
  expect_product(gradient({7}, 2), Form::kPatchesKernel);
  expect_product(gradient({16, 16}, 2), Form::kPatchesKernel);
  // With so few terms the product is a part of the kernel that reads it.
  for (const Case& c : {gradient({1, 1}, 1), gradient({1, 1}, 5), gradient({2, 2}, 2)}) {
    const Convolution conv = convolution_of(c, Form::kPatchesKernel);
    expect_unrolled("convolution", conv.types, conv.body, Keeps::kValues);
    EXPECT_FALSE(has_op(unroll_windows(trace(conv.types, conv.body)), "dot_general"));
  }
  // More pixels, another dtype, and features that are not last in one of the operands.
  expect_library(gradient({9, 19}, 3), Form::kPatchesKernel);
  expect_library(gradient({4, 3}, 2, bfloat16), Form::kPatchesKernel);
  Case c = gradient({4, 3}, 2);
  c.options.lhs_layout = "CNHW";
  expect_library(c, Form::kPatchesKernel);
  c = gradient({4, 3}, 2);
  c.options.rhs_layout = "OIHW";
  expect_library(c, Form::kPatchesKernel);
  // A fully connected layer: its kernel is read where it is (runtime/convolutions/conv_product.h).
  expect_library({.windows = {1, 1}, .window = {1, 1}, .dtype = float32}, Form::kPatches);
}

// Windows that overlap or that padding moves stay convolutions.
TEST(ProductConvolution, OtherWindows) {
  const auto kept = [](const Dims& strides, const lax::Padding& padding, lax::ConvOptions options,
                       int64_t image, int64_t window) {
    expect_kept("convolution",
                {array_type(float64, {2, 3, image}), array_type(float64, {4, 3, window})},
                [=](const Arrays& x) {
                  return Arrays{lax::conv_general_dilated(x[0], x[1], strides, padding, options)};
                });
  };
  kept({1}, {{1, 1}}, {.lhs_dilation = {2}}, 4, 3);  // windows overlap
  kept({1}, {{0, 2}}, {.lhs_dilation = {2}}, 4, 2);  // windows are moved
  kept({1}, {{2, 2}}, {.lhs_dilation = {3}}, 4, 2);  // there are gaps between windows
  kept({1}, {{1, 0}}, {.rhs_dilation = {2}}, 8, 4);  // windows are moved
  kept({1}, {{2, 2}}, {.lhs_dilation = {2}}, 4, 8);  // the window, as large as the image, is moved
  kept({1}, {{0, 1}}, {.lhs_dilation = {2}}, 4, 8);  // the result has one element
}

}  // namespace
}  // namespace tessera::fusion_testing::product_convolution_test
