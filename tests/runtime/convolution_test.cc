// Compares the compiled convolution with the naive one, in all its forms.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tessera/base/thread_pool.h"
#include "tessera/ops/core/convert.h"
#include "tessera/runtime/convolutions/conv_library.h"
#include "tessera/runtime/convolutions/convolution_code.h"
#include "tests/runtime/schedules.h"

namespace tessera::convolution_test {

using namespace runtime;

namespace {

struct Case {
  DType dtype = float32;
  Shape lhs, rhs;
  ConvolutionParams params;
};

const Dims kNhwc{0, 3, 1, 2}, kHwio{3, 2, 0, 1}, kNchw{0, 1, 2, 3};

// Returns params with the same stride, padding and dilation for each of n dimensions.
ConvolutionParams square(int64_t n, int64_t stride, int64_t low, int64_t high,
                         int64_t lhs_dilation = 1, int64_t rhs_dilation = 1) {
  const auto all = [&](int64_t v) { return Dims(static_cast<size_t>(n), v); };
  ConvolutionParams p{all(stride),       all(low),          all(high),
                      all(lhs_dilation), all(rhs_dilation), all(0)};
  const Dims last = [&] {
    Dims d{0, n + 1};
    for (int64_t i = 1; i <= n; ++i) d.push_back(i);
    return d;
  }();
  p.lhs_spec = p.out_spec = last;
  p.rhs_spec = {n + 1, n};
  for (int64_t i = 0; i < n; ++i) p.rhs_spec.push_back(i);
  return p;
}

Literal filled(DType dtype, const Shape& shape, int seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  std::uniform_int_distribution<int> draw(-8, 8);
  Literal out(float64, shape);
  for (int64_t i = 0; i < out.elements(); ++i) out.mutable_data<double>()[i] = draw(rng) / 8.0;
  if (!is_inexact(dtype))
    for (int64_t i = 0; i < out.elements(); ++i) out.mutable_data<double>()[i] *= 8;
  return convert_literal(out, dtype);
}

Type type_of(const Literal& x) { return {.dtype = x.dtype(), .shape = x.shape()}; }

void run_call(const ConvolutionCall& call, const Literal& x, const Literal& w, Literal& out) {
  const PackedFormRef form = call.packed_rhs();
  const Buffer kernel = form ? packed(form, w.raw(), nullptr) : Buffer();
  call.run(x.raw(), form ? kernel.data() : w.raw(), out.mutable_raw());
}

struct Ready {
  Literal x, w;
  std::shared_ptr<const ConvolutionCall> call;
  Type result;
  Literal operator()() const {
    Literal out(result.dtype, result.shape);
    if (out.bytes() > 0) std::memset(out.mutable_raw(), 0x7f, static_cast<size_t>(out.bytes()));
    run_call(*call, x, w, out);
    return out;
  }
};
Ready make_ready(const Case& c) {
  ConvolutionParams p = c.params;
  if (p.result == float32 && c.dtype != float32) p.result = c.dtype;
  Ready out{filled(c.dtype, c.lhs, 1), filled(c.dtype, c.rhs, 2), {}, {}};
  const std::vector<Type> types{type_of(out.x), type_of(out.w)};
  out.result = convolution_op.infer(types, p)[0];
  out.call = make_convolution(p, types[0], types[1], out.result);
  return out;
}

double tolerance(DType dtype) {
  return dtype == bfloat16 ? 1e-2 : dtype == float16 ? 2e-3 : is_inexact(dtype) ? 2e-5 : 0;
}

void check(const Case& c) {
  const ConvolutionParams& q = c.params;
  SCOPED_TRACE(fmt::format(
      "{} {} {} strides {} padding {} {} dilation {} {} reversal {} specs {} {} "
      "{} groups {} {}",
      c.dtype, c.lhs, c.rhs, q.strides, q.low, q.high, q.lhs_dilation, q.rhs_dilation, q.reversal,
      q.lhs_spec, q.rhs_spec, q.out_spec, q.feature_group_count, q.batch_group_count));
  const Ready run = make_ready(c);
  ConvolutionParams p = c.params;
  p.result = run.result.dtype;
  const std::vector<Literal> operands{run.x, run.w};
  const Literal want = convolution_op.evaluate(operands, p)[0], got = run();
  ASSERT_EQ(got.shape(), want.shape());
  const DType wide = is_complex(want.dtype()) ? complex128 : float64;
  const Literal a = convert_literal(got, wide), b = convert_literal(want, wide);
  const auto *g = reinterpret_cast<const double*>(a.raw()),
             *e = reinterpret_cast<const double*>(b.raw());
  double scale = 1;
  for (int64_t i = 0; i < a.elements() * (is_complex(wide) ? 2 : 1); ++i)
    scale = std::max(scale, std::abs(e[i]));
  for (int64_t i = 0; i < a.elements() * (is_complex(wide) ? 2 : 1); ++i)
    ASSERT_LE(std::abs(g[i] - e[i]), tolerance(want.dtype()) * scale)
        << "element " << i << ": " << g[i] << ", expected " << e[i];
}

const DType kDtypes[] = {float32, bfloat16, float16, float64, complex64, int32, int8};

TEST(Convolution, LayoutsOfForwardConvolutions) {
  for (DType dtype : kDtypes) {
    check({dtype, {3, 9, 8, 16}, {3, 3, 16, 24}, square(2, 1, 1, 1)});
    ConvolutionParams p = square(2, 1, 1, 1);
    p.lhs_spec = p.rhs_spec = p.out_spec = kNchw;
    check({dtype, {3, 16, 9, 8}, {24, 16, 3, 3}, p});
    p.out_spec = kNhwc;  // the result has another layout
    check({dtype, {3, 16, 9, 8}, {24, 16, 3, 3}, p});
    p.out_spec = {3, 0, 2, 1};  // and a layout that no library has
    check({dtype, {3, 16, 9, 8}, {24, 16, 3, 3}, p});
  }
  check({float32, {2, 8, 8, 3}, {3, 3, 3, 5}, square(2, 1, 1, 1)});
  check({float32, {2, 8, 8, 1}, {3, 3, 1, 32}, square(2, 1, 0, 0)});
}

TEST(Convolution, RanksStridesPaddingsAndDilations) {
  for (DType dtype : {float32, bfloat16, float64}) {
    check({dtype, {2, 17, 8}, {5, 8, 16}, square(1, 2, 2, 1)});
    check({dtype, {2, 5, 6, 7, 8}, {2, 2, 2, 8, 16}, square(3, 1, 1, 0)});
    check({dtype, {5, 8}, {8, 16}, square(0, 1, 0, 0)});
    check({dtype, {2, 3, 3, 3, 3, 2}, {2, 2, 2, 2, 2, 3}, square(4, 1, 0, 1)});
    for (int64_t stride : {1, 2, 3})
      for (int64_t low : {-2, 0, 1, 4})
        for (int64_t high : {-1, 0, 2, 5})
          for (int64_t dilation : {1, 2})
            check({dtype, {2, 9, 10, 4}, {3, 3, 4, 8}, square(2, stride, low, high, 1, dilation)});
  }
}

// Windows that slide over lines of one feature: short ones, several tiles of one line, windows that
// see much padding or only padding, and features whose elements are apart.
TEST(Convolution, LinesOfOneFeature) {
  const Dims first{0, 1, 2};
  for (const auto& [length, window] :
       {std::pair<int64_t, int64_t>{3, 2}, {40, 9}, {8300, 9}, {300, 70}, {30, 100}})
    for (int64_t low : {int64_t{-1}, int64_t{0}, window + 3})
      for (int64_t high : {int64_t{-1}, window - 1})
        for (int64_t dilation : {1, 3}) {
          if (length + low + high <= (window - 1) * dilation) continue;
          ConvolutionParams p = square(1, 1, low, high, 1, dilation);
          check({float64, {2, length, 1}, {window, 1, 1}, p});
          p.reversal = {1};
          p.lhs_spec = p.rhs_spec = p.out_spec = first;
          check({float64, {3, 1, length}, {1, 1, window}, p});
          p.result = float32;
          p.reversal = {0};
          p.feature_group_count = 2;
          check({float64, {2, 2, length}, {2, 1, window}, p});
          p.result = float64;
          p.lhs_spec = p.out_spec = {1, 2, 0};
          check({float64, {length, 2, 2}, {2, 1, window}, p});
          p = square(1, 1, low, high, 1, dilation);
          p.batch_group_count = 3;
          check({float64, {3, length, 1}, {window, 1, 3}, p});
        }
}

TEST(Convolution, GroupsOfFeaturesAndOfTheBatch) {
  for (DType dtype : {float32, bfloat16, float64, int32}) {
    for (int64_t groups : {2, 4, 16}) {
      ConvolutionParams p = square(2, 1, 1, 1);
      p.feature_group_count = groups;
      check({dtype, {2, 7, 7, 16}, {3, 3, 16 / groups, 32}, p});
      p.lhs_spec = p.out_spec = kNchw;
      check({dtype, {2, 16, 7, 7}, {3, 3, 16 / groups, 32}, p});
      p = square(2, 1, 1, 1);
      p.batch_group_count = groups;
      check({dtype, {16, 7, 7, 4}, {3, 3, 4, 32}, p});
    }
  }
}

TEST(Convolution, DilatedInputsAreGradients) {
  for (DType dtype : {float32, bfloat16, float64}) {
    for (int64_t dilation : {2, 3})
      for (int64_t low : {0, 1, 2, 3, 5})
        for (int64_t high : {-1, 0, 1, 2, 5})
          for (int64_t window_dilation : {1, 2}) {
            Case c{dtype,
                   {2, 5, 6, 8},
                   {3, 3, 8, 16},
                   square(2, 1, low, high, dilation, window_dilation)};
            check(c);
            c.params.reversal = {1, 1};
            check(c);
          }
    // Also with strides, and with groups.
    check({dtype, {2, 5, 6, 8}, {3, 3, 8, 16}, square(2, 2, 1, 1, 3)});
    ConvolutionParams p = square(2, 1, 1, 1, 2);
    p.feature_group_count = 4;
    check({dtype, {2, 5, 6, 8}, {3, 3, 2, 16}, p});
  }
}

TEST(Convolution, WindowsAreReversed) {
  for (const Dims& reversal : {Dims{1, 0}, Dims{0, 1}, Dims{1, 1}})
    for (DType dtype : {float32, float64}) {
      ConvolutionParams p = square(2, 1, 1, 2);
      p.reversal = reversal;
      check({dtype, {2, 6, 7, 4}, {3, 2, 4, 8}, p});
      p.rhs_spec = kNchw;
      check({dtype, {2, 6, 7, 4}, {8, 4, 3, 2}, p});
    }
}

// The transpose of a convolution writes the gradient by its kernel in this form: batch and features
// of the image are exchanged, and the cotangent is the window.
TEST(Convolution, KernelGradients) {
  for (DType dtype : {float32, bfloat16, float16, float64}) {
    for (int64_t stride : {1, 2}) {
      for (int64_t dilation : {1, 2}) {
        // (n, 12, 12, c) by (3, 3, c, o), padding 1.
        const int64_t out = (12 + 2 - 2 * dilation - 1) / stride + 1;
        ConvolutionParams p = square(2, dilation, 1, 0, 1, stride);
        p.lhs_spec = {3, 0, 1, 2};
        p.rhs_spec = {3, 0, 1, 2};
        p.out_spec = {2, 3, 0, 1};
        for (int64_t d = 0; d < 2; ++d)
          p.high[d] = (out - 1) * stride + 1 - 12 + 2 * dilation + 1 - 1 - 1;
        check({dtype, {4, 12, 12, 16}, {4, out, out, 8}, p});
        p.lhs_spec = {1, 0, 2, 3};
        p.rhs_spec = {1, 0, 2, 3};
        check({dtype, {4, 16, 12, 12}, {4, 8, out, out}, p});
      }
    }
    ConvolutionParams p = square(2, 1, 1, 1);
    p.lhs_spec = p.rhs_spec = {3, 0, 1, 2};
    p.out_spec = {2, 3, 0, 1};
    for (int64_t images : {1, 2, 5}) {
      check({dtype, {images, 2, 2, 16}, {images, 2, 2, 24}, p});
      check({dtype, {images, 1, 2, 16}, {images, 1, 2, 24}, p});
    }
    for (int64_t groups : {2, 16}) {
      p.batch_group_count = groups;
      check({dtype, {4, 12, 12, 16}, {4, 12, 12, 32}, p});
    }
  }
}

// Convolutions large enough to be cut: by images, by rows of one image, by features.
TEST(Convolution, TilesMakeTheWhole) {
  check({float32, {16, 20, 20, 16}, {3, 3, 16, 32}, square(2, 1, 1, 1)});
  check({float32, {1, 66, 64, 16}, {3, 3, 16, 32}, square(2, 1, 1, 1)});
  check({float32, {1, 65, 64, 16}, {5, 3, 16, 32}, square(2, 2, 2, 2)});
  check({float32, {1, 8, 8, 64}, {3, 3, 64, 320}, square(2, 1, 1, 1)});
  check({float32, {1, 9, 9, 64}, {3, 3, 64, 256}, square(2, 1, 1, 2, 2)});
  check({float32, {1, 3000, 16}, {9, 16, 32}, square(1, 1, 4, 4)});
  ConvolutionParams p = square(2, 1, 1, 1);
  p.lhs_spec = p.rhs_spec = {3, 0, 1, 2};
  p.out_spec = {2, 3, 0, 1};
  check({float32, {16, 20, 20, 16}, {16, 20, 20, 32}, p});
  check({float32, {1, 66, 64, 16}, {1, 66, 64, 32}, p});
  check({float32, {2, 8, 8, 64}, {2, 8, 8, 256}, p});
}

// The kernel of a tile of some features, which the library reads once for each row.
TEST(Convolution, TilesHaveKernelsThatStayInACache) {
  const auto features = [](int64_t size, int64_t window, int64_t in, int64_t out) {
    const int64_t low = window / 2;
    const Shape image{1, size, size, in}, result{1, size, size, out};
    LibraryConv conv =
        *library_conv(conv_shape(square(2, 1, low, low), image, {window, window, in, out}, result));
    return conv_tiles(conv)[0].outputs;
  };
  EXPECT_EQ(features(7, 3, 512, 512), 32);  // of 64 features: 1.2 MB
  EXPECT_EQ(features(7, 3, 256, 512), 64);
  EXPECT_EQ(features(14, 3, 256, 256), 64);
  EXPECT_EQ(features(56, 3, 512, 64), 64);    // divided by rows alone
  EXPECT_EQ(features(7, 1, 2048, 512), 128);  // the kernel is read once
}

// Of few pixels: most of the time goes into reading the kernel.
TEST(Convolution, FeaturesOfFewPixelsAndShortBatchesAreDivided) {
  struct Tiles {
    size_t count;
    int64_t images, features;
    bool operator==(const Tiles&) const = default;
  };
  const auto tiles = [](const Shape& image, int64_t window, int64_t out, int64_t groups = 1) {
    ConvolutionParams p = square(2, 1, window / 2, window / 2);
    p.feature_group_count = groups;
    const Shape kernel{window, window, image[3] / groups, out},
        result{image[0], image[1], image[2], out};
    LibraryConv conv = *library_conv(conv_shape(p, image, kernel, result));
    const std::vector<ConvTile> all = conv_tiles(conv);
    return Tiles{all.size(), all[0].batches, all[0].outputs};
  };
  EXPECT_EQ(tiles({2, 2, 2, 512}, 3, 512), (Tiles{8, 2, 64}));
  EXPECT_EQ(tiles({2, 2, 2, 128}, 3, 128), (Tiles{2, 2, 64}));
  EXPECT_EQ(tiles({2, 2, 2, 64}, 3, 64), (Tiles{1, 2, 64}));  // a small kernel
  EXPECT_EQ(tiles({2, 16, 16, 72}, 3, 72, 72), (Tiles{2, 1, 1}));
  EXPECT_EQ(tiles({32, 16, 16, 72}, 3, 72, 72), (Tiles{11, 3, 1}));  // long enough for tasks
  check({float32, {2, 2, 2, 256}, {3, 3, 256, 256}, square(2, 1, 1, 1)});
  check({float32, {3, 2, 2, 256}, {1, 1, 256, 520}, square(2, 1, 0, 0)});
}

// Dimensions along which the window has one place are one, where the layouts allow it.
TEST(Convolution, PixelsAreDividedAnywhere) {
  check({float32, {1, 49, 49, 32}, {1, 1, 32, 64}, square(2, 1, 0, 0)});
  check({float32, {3, 17, 49, 32}, {1, 1, 32, 130}, square(2, 1, 0, 0)});
  check({float32, {1, 9, 13, 23, 32}, {1, 1, 1, 32, 64}, square(3, 1, 0, 0)});
  check({float32, {1, 9, 25, 11, 32}, {3, 1, 1, 32, 64}, square(3, 1, 0, 0)});
  check({float32, {1, 49, 49, 32}, {1, 1, 32, 64}, square(2, 2, 0, 0)});
  check({float32, {1, 49, 47, 32}, {1, 1, 32, 64}, square(2, 1, 1, 1)});
  ConvolutionParams p = square(2, 1, 0, 0);
  p.reversal = {1, 1};
  check({float32, {1, 49, 49, 32}, {1, 1, 32, 64}, p});
  p.reversal = {0, 0};
  p.feature_group_count = 2;
  check({float32, {1, 49, 49, 64}, {1, 1, 32, 64}, p});
  p.feature_group_count = 1;
  p.lhs_spec = p.out_spec = kNchw;
  check({float32, {1, 32, 49, 49}, {1, 1, 32, 64}, p});
  p.out_spec = {0, 3, 2, 1};  // of other strides than the image
  check({float32, {1, 32, 49, 49}, {1, 1, 32, 64}, p});
}

TEST(Convolution, ResultsOfAnotherDtype) {
  for (auto [in, out] : {std::pair{bfloat16, float32},
                         {float16, float32},
                         {float32, float64},
                         {float32, bfloat16},
                         {bfloat16, float64},
                         {int8, int32},
                         {int8, int16},
                         {int16, int32},
                         {uint8, uint32},
                         {uint16, uint32},
                         {int32, int8},
                         {complex64, complex128}}) {
    Case c{in, {2, 6, 6, 8}, {3, 3, 8, 16}, square(2, 1, 1, 1)};
    c.params.result = out;
    if (out == float32 && in != float32) {
      // make_ready treats float32 as the dtype of the operands.
      const Literal x = filled(in, c.lhs, 1), w = filled(in, c.rhs, 2);
      const std::vector<Literal> operands{x, w};
      const Literal want = convolution_op.evaluate(operands, c.params)[0];
      Literal got(float32, want.shape());
      run_call(*make_convolution(c.params, type_of(x), type_of(w), type_of(got)), x, w, got);
      for (int64_t i = 0; i < got.elements(); ++i)
        ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 1e-4);
    } else {
      check(c);
      check({in, {3, 9, 9, 5}, {3, 3, 5, 7}, c.params});  // an odd number of products in each sum
    }
  }
}

TEST(Convolution, EmptyOnes) {
  check({float32, {0, 6, 6, 8}, {3, 3, 8, 16}, square(2, 1, 1, 1)});
  check({float32, {2, 6, 6, 0}, {3, 3, 0, 16}, square(2, 1, 1, 1)});
  check({float32, {2, 2, 2, 8}, {3, 3, 8, 16}, square(2, 1, 0, 0)});
  check({float32, {2, 0, 6, 8}, {3, 3, 8, 16}, square(2, 1, 3, 3)});
  check({float32, {2, 1, 1, 8}, {3, 3, 8, 16}, square(2, 1, 7, 7)});
}

Literal random_normal(const Shape& shape, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> draw;
  Literal out(float32, shape);
  for (int64_t i = 0; i < out.elements(); ++i) out.mutable_data<float>()[i] = draw(rng);
  return out;
}

// The images of a batch have the bits that each has alone.
TEST(Convolution, AnImageHasTheSameBitsInAnyBatch) {
  struct Layer {
    int64_t size, window, stride, in, out;
  };
  for (const Layer& l :
       {Layer{28, 1, 1, 128, 512}, Layer{28, 3, 1, 128, 128}, Layer{28, 1, 2, 256, 512},
        Layer{14, 1, 1, 256, 1024}, Layer{14, 1, 1, 1024, 256}, Layer{14, 3, 1, 256, 256},
        Layer{7, 3, 1, 256, 512}, Layer{7, 3, 1, 512, 512}, Layer{7, 1, 1, 512, 2048},
        Layer{9, 3, 2, 64, 96}, Layer{8, 5, 1, 24, 48}, Layer{5, 3, 1, 8, 8}}) {
    SCOPED_TRACE(fmt::format("{} x {}, window {}, stride {}, {} to {} features", l.size, l.size,
                             l.window, l.stride, l.in, l.out));
    const int64_t low = l.window / 2, most = l.size > 14 ? 5 : 70;
    const ConvolutionParams p = square(2, l.stride, low, low);
    const Literal w = random_normal({l.window, l.window, l.in, l.out}, 2),
                  x = random_normal({most, l.size, l.size, l.in}, 1);
    const auto result = [&](int64_t first, int64_t images) {
      Literal some(float32, {images, l.size, l.size, l.in});
      const int64_t image = some.elements() / images;
      std::memcpy(some.mutable_raw(), x.data<float>() + first * image,
                  static_cast<size_t>(some.bytes()));
      const std::vector<Type> types{type_of(some), type_of(w)};
      const Type type = convolution_op.infer(types, p)[0];
      Literal out(type.dtype, type.shape);
      run_call(*make_convolution(p, types[0], types[1], type), some, w, out);
      return out;
    };
    const Literal all = result(0, most);
    const int64_t image = all.elements() / most;
    for (const int64_t images : {1, 2, 3, 5, 17}) {
      if (images > most) break;
      for (const int64_t first : {int64_t{0}, most - images}) {
        const Literal some = result(first, images);
        EXPECT_EQ(std::memcmp(some.raw(), all.data<float>() + first * image,
                              static_cast<size_t>(some.bytes())),
                  0)
            << images << " images from " << first << " of " << most;
      }
    }
  }
}

// As a step, the convolution runs once for each instance, and all read a kernel that varies over
// fewer axes.
TEST(Convolution, AStepRunsOnceAnInstance) {
  const Mesh mesh = test_mesh({4}, {"x"});
  const Case c{float32, {2, 6, 5, 3}, {3, 3, 3, 4}, square(2, 1, 1, 1)};
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, c.lhs, {0}), w = b.input(float32, c.rhs, {}),
            y = b.output(float32, {2, 6, 5, 4}, {0});
  b.add(ConvolutionStep{.params = c.params, .lhs = x, .rhs = w, .out = y, .axes = {0}});
  const NamedSharding rows(mesh, P("x")), whole(mesh, P());
  const Shape all{8, 6, 5, 3}, out{8, 6, 5, 4};
  const auto program =
      b.program({{float32, all, rows}, {float32, c.rhs, whole}}, {{float32, out, rows}});
  const std::vector<Literal> operands{filled(float32, all, 1), filled(float32, c.rhs, 2)};
  const Literal want = convolution_op.evaluate(operands, c.params)[0];
  const Literal got =
      program->run({device_array(operands[0], rows), device_array(operands[1], whole)})[0]
          ->to_literal();
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t i = 0; i < got.elements(); ++i)
    ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 1e-4) << i;
}

// The bits are the same on one thread, on many, and inside tasks that run at once.
TEST(Convolution, ThreadsDoNotMatter) {
  ConvolutionParams gradient = square(2, 1, 1, 1);
  gradient.lhs_spec = gradient.rhs_spec = {3, 0, 1, 2};
  gradient.out_spec = {2, 3, 0, 1};
  const int before = num_threads();
  for (const Case& c : {Case{float32, {8, 20, 20, 16}, {3, 3, 16, 32}, square(2, 1, 1, 1)},
                        Case{float32, {8, 20, 20, 16}, {8, 20, 20, 32}, gradient},
                        Case{float64, {8, 12, 12, 8}, {3, 3, 8, 16}, square(2, 1, 1, 1)},
                        Case{float64, {2, 9000, 1}, {20, 1, 1}, square(1, 1, 9, 9)}}) {
    set_num_threads(1);
    const Ready run = make_ready(c);
    const Literal one = run();
    set_num_threads(4);
    const Literal four = run();
    EXPECT_EQ(std::memcmp(one.raw(), four.raw(), static_cast<size_t>(one.bytes())), 0);
    std::vector<Literal> results(8);
    parallel_for(8, [&](int64_t i) { results[static_cast<size_t>(i)] = run(); });
    for (const Literal& r : results)
      EXPECT_EQ(std::memcmp(one.raw(), r.raw(), static_cast<size_t>(one.bytes())), 0);
  }
  set_num_threads(before);
}

// The library, and not the general code, computes the convolutions that training needs.
TEST(Convolution, TheLibraryTakesWhatTrainingNeeds) {
  const auto taken = [](const Shape& lhs, const Shape& rhs, const ConvolutionParams& p) {
    const std::vector<Type> types{{.dtype = float32, .shape = lhs},
                                  {.dtype = float32, .shape = rhs}};
    const Type result = convolution_op.infer(types, p)[0];
    return ConvLibrary::make(conv_shape(p, lhs, rhs, result.shape), {float32, float32}) != nullptr;
  };
  EXPECT_TRUE(taken({32, 28, 28, 1}, {3, 3, 1, 32}, square(2, 1, 1, 1)));
  EXPECT_TRUE(taken({8, 56, 56, 64}, {3, 3, 64, 64}, square(2, 1, 1, 1)));
  EXPECT_TRUE(taken({8, 28, 28, 64}, {3, 3, 64, 64}, square(2, 1, 1, 2, 2)));
  ConvolutionParams p = square(2, 1, 1, 1);
  p.lhs_spec = p.rhs_spec = {3, 0, 1, 2};
  p.out_spec = {2, 3, 0, 1};
  EXPECT_TRUE(taken({8, 28, 28, 64}, {8, 28, 28, 32}, p));
  EXPECT_EQ(
      library_conv(conv_shape(p, {8, 28, 28, 64}, {8, 28, 28, 32}, {3, 3, 64, 32}))->direction,
      ConvDirection::kBackwardWeights);
  // Images of fewer pixels than the kernel, too, but not a forward convolution whose batch is last.
  EXPECT_TRUE(taken({2, 2, 2, 64}, {2, 2, 2, 32}, p));
  EXPECT_TRUE(taken({2, 1, 2, 17}, {2, 1, 2, 3}, p));
  EXPECT_EQ(library_conv(conv_shape(p, {2, 2, 2, 64}, {2, 2, 2, 32}, {3, 3, 64, 32}))->direction,
            ConvDirection::kBackwardWeights);
  p.rhs_spec = kHwio;
  EXPECT_EQ(library_conv(conv_shape(p, {16, 4, 4, 2}, {3, 3, 16, 32}, {4, 4, 2, 32}))->direction,
            ConvDirection::kForward);
}

}  // namespace
}  // namespace tessera::convolution_test
