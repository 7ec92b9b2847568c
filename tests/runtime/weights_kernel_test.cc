// Kernels that run when weights are packed: which kernels these are, and what programs compute with
// them.
#include "tessera/runtime/convolutions/weights_kernel.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/runtime/schedules.h"

namespace tessera::weights_kernel_test {

using namespace runtime;

namespace {

int64_t times_packed() { return packing_stats().packed; }

int64_t calls = 0;  // of add_one on whole arrays
void add_one(void* const* buffers, int64_t begin, int64_t end) {
  if (begin == 0) ++calls;
  for (int64_t i = begin; i < end; ++i)
    static_cast<float*>(buffers[1])[i] = static_cast<const float*>(buffers[0])[i] + 1;
}
void sum(void* const* buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float*>(buffers[2])[i] =
        static_cast<const float*>(buffers[0])[i] + static_cast<const float*>(buffers[1])[i];
}

Literal convolved(const Literal& x, Literal w, float added) {
  for (int64_t i = 0; i < w.elements(); ++i) w.mutable_data<float>()[i] += added;
  return tessera::convolved(x, w);
}

// The program (x, w) -> x convolved with w + 1.
struct Convolution {
  ScheduleBuilder b{Mesh()};
  int x = b.input(float32, kImage, {}), w = b.input(float32, kKernel, {}),
      t = b.slot(float32, kKernel, {});
  ConvolutionStep step(int weights, int out) const {
    return {.params = convolution_windows(), .lhs = x, .rhs = weights, .out = out};
  }
  std::vector<std::optional<WeightsKernel>> found() const {
    return find_weights_kernels(b.schedule, plan_storages(b.schedule));
  }
};

TEST(WeightsKernel, RunsWhenWeightsArePacked) {
  Convolution c;
  c.b.kernel({c.w, c.t}, {}, add_one);
  c.b.add(c.step(c.t, c.b.output(float32, kImage, {})));
  ASSERT_TRUE(c.found()[1]);
  EXPECT_EQ(c.found()[1]->step, 0);
  EXPECT_EQ(c.found()[1]->source, c.w);
  const auto program = c.b.program({spec_of(kImage), spec_of(kKernel)}, {spec_of(kImage)});
  const DeviceArrayRef x = array_of(kImage, 1), w = array_of(kKernel, 2);
  const Literal want = convolved(x->to_literal(), w->to_literal(), 1);
  const int64_t before = calls, packed = times_packed();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(program->run({x, w})[0]->to_literal(), want);
  EXPECT_EQ(calls, before + 2);
  EXPECT_EQ(times_packed(), packed + 2);
  // Other weights are packed separately.
  const DeviceArrayRef other = array_of(kKernel, 3);
  EXPECT_EQ(program->run({x, other})[0]->to_literal(),
            convolved(x->to_literal(), other->to_literal(), 1));
}

TEST(WeightsKernel, OfAConstantRunsWithTheProgram) {
  Convolution c;
  const Literal kernel = random_literal(float32, kKernel, 2);
  const int k = c.b.constant(kernel);
  c.b.kernel({k, c.t}, {}, add_one);
  c.b.add(c.step(c.t, c.b.output(float32, kImage, {})));
  const int64_t before = calls;
  const auto program = c.b.program({spec_of(kImage), spec_of(kKernel)}, {spec_of(kImage)});
  EXPECT_EQ(calls, before + 1);
  const DeviceArrayRef x = array_of(kImage, 1), unused = array_of(kKernel, 2);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(program->run({x, unused})[0]->to_literal(), convolved(x->to_literal(), kernel, 1));
  EXPECT_EQ(calls, before + 1);
}

TEST(WeightsKernel, IsNoOtherKernel) {
  {  // the result of the kernel is read twice
    Convolution c;
    c.b.kernel({c.w, c.t}, {}, add_one);
    c.b.add(c.step(c.t, c.b.output(float32, kImage, {})));
    c.b.add(c.step(c.t, c.b.output(float32, kImage, {})));
    EXPECT_FALSE(c.found()[1]);
    EXPECT_FALSE(c.found()[2]);
  }
  {  // the result of the kernel is a result of the program
    Convolution c;
    const int out = c.b.output(float32, kKernel, {});
    c.b.kernel({c.w, out}, {}, add_one);
    c.b.add(c.step(out, c.b.output(float32, kImage, {})));
    EXPECT_FALSE(c.found()[1]);
  }
  {  // the kernel reads two arrays
    Convolution c;
    const int other = c.b.input(float32, kKernel, {});
    c.b.kernel({c.w, other, c.t}, {}, sum);
    c.b.add(c.step(c.t, c.b.output(float32, kImage, {})));
    EXPECT_FALSE(c.found()[1]);
  }
  {  // the kernel reads the result of another step
    Convolution c;
    const int between = c.b.slot(float32, kKernel, {});
    c.b.kernel({c.w, between}, {}, add_one);
    c.b.kernel({between, c.t}, {}, add_one);
    c.b.add(c.step(c.t, c.b.output(float32, kImage, {})));
    EXPECT_FALSE(c.found()[2]);
  }
  {  // The kernel computes the image and the weights.
    Convolution c;
    const Shape both{3, 3, 3, 3};
    const int source = c.b.input(float32, both, {}), made = c.b.slot(float32, both, {});
    c.b.kernel({source, made}, {}, add_one);
    ConvolutionStep step = c.step(made, c.b.output(float32, {3, 3, 3, 3}, {}));
    step.lhs = made;
    c.b.add(step);
    EXPECT_FALSE(c.found()[1]);
  }
  {  // It makes the image.
    Convolution c;
    const int image = c.b.slot(float32, kImage, {});
    c.b.kernel({c.x, image}, {}, add_one);
    ConvolutionStep step = c.step(c.w, c.b.output(float32, kImage, {}));
    step.lhs = image;
    c.b.add(step);
    EXPECT_FALSE(c.found()[1]);
  }
}

// The convolution reads the argument after the kernel: nothing may use the memory in between.
TEST(WeightsKernel, ADonatedArgumentIsReadBeforeItsMemoryIsTaken) {
  Convolution c;
  const int v = c.b.input(float32, kKernel, {}), update = c.b.output(float32, kKernel, {});
  c.b.kernel({c.w, c.t}, {}, add_one);
  c.b.kernel({v, update}, {}, add_one);
  c.b.add(c.step(c.t, c.b.output(float32, kImage, {})));
  const auto program = c.b.program({spec_of(kImage), spec_of(kKernel), spec_of(kKernel)},
                                   {spec_of(kKernel), spec_of(kImage)});
  const DeviceArrayRef x = array_of(kImage, 1), other = array_of(kKernel, 3);
  for (int i = 0; i < 3; ++i) {
    const DeviceArrayRef w = array_of(kKernel, 2);
    const Literal want = convolved(x->to_literal(), w->to_literal(), 1);
    for (int run = 0; run < i; ++run) program->run({x, w, other});
    const uint8_t donate[] = {0, 1, 0};
    EXPECT_EQ(program->run({x, w, other}, donate)[1]->to_literal(), want);
    EXPECT_TRUE(w->is_deleted());
  }
}

// On several devices each reads its own part of the weights, or all read the same weights.
TEST(WeightsKernel, ReadsThePartOfItsDevice) {
  const Mesh mesh = test_mesh({2}, {"x"});
  for (const bool same : {false, true}) {
    ScheduleBuilder b{mesh};
    const AxisList axes = same ? AxisList{} : AxisList{0};
    const int x = b.input(float32, kImage, {0}), w = b.input(float32, kKernel, axes),
              t = b.slot(float32, kKernel, axes), y = b.output(float32, kImage, {0});
    b.kernel({w, t}, axes, add_one);
    b.add(ConvolutionStep{
        .params = convolution_windows(), .lhs = x, .rhs = t, .out = y, .axes = {0}});
    ASSERT_TRUE(find_weights_kernels(b.schedule, plan_storages(b.schedule))[1]);
    const NamedSharding rows(mesh, P("x")), whole(mesh, P());
    const Shape images{4, 6, 6, 32}, kernels{same ? 3 : 6, 3, 32, 32};
    const auto program =
        b.program({{float32, images, rows}, {float32, kernels, same ? whole : rows}},
                  {{float32, images, rows}});
    const Literal image = random_literal(float32, images, 1),
                  kernel = random_literal(float32, kernels, 2);
    const DeviceArrayRef in = device_array(image, rows),
                         weights = device_array(kernel, same ? whole : rows);
    for (int run = 0; run < 3; ++run) {
      const Literal got = program->run({in, weights})[0]->to_literal();
      for (int64_t d = 0; d < 2; ++d) {
        Literal part(float32, kImage), own(float32, kKernel), result(float32, kImage);
        std::memcpy(part.mutable_raw(), image.raw() + d * part.bytes(),
                    static_cast<size_t>(part.bytes()));
        std::memcpy(own.mutable_raw(), kernel.raw() + (same ? 0 : d * own.bytes()),
                    static_cast<size_t>(own.bytes()));
        std::memcpy(result.mutable_raw(), got.raw() + d * result.bytes(),
                    static_cast<size_t>(result.bytes()));
        EXPECT_EQ(result, convolved(part, own, 1)) << d;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::weights_kernel_test
