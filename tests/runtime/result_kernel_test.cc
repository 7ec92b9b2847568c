// Kernels that run on the tiles of a convolution's result: which kernels these are, and what
// programs compute with them.
#include "tessera/runtime/convolutions/result_kernel.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tessera/runtime/executable.h"
#include "tessera/runtime/run_cost.h"
#include "tests/runtime/schedules.h"

namespace tessera::result_kernel_test {

using namespace runtime;

namespace {

std::atomic<int64_t> calls = 0, most_elements = 0;
void record(int64_t elements) {
  ++calls;
  for (int64_t most = most_elements;
       most < elements && !most_elements.compare_exchange_weak(most, elements);) {
  }
}
void reset() { calls = most_elements = 0; }

// out = max(x + y, 0) of two arrays.
void relu_of_sum(void* const* buffers, int64_t begin, int64_t end) {
  record(end - begin);
  const auto *x = static_cast<const float*>(buffers[0]), *y = static_cast<const float*>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    static_cast<float*>(buffers[2])[i] = std::max(x[i] + y[i], 0.0F);
}
void add_one(void* const* buffers, int64_t begin, int64_t end) {
  record(end - begin);
  for (int64_t i = begin; i < end; ++i)
    static_cast<float*>(buffers[1])[i] = static_cast<const float*>(buffers[0])[i] + 1;
}

Literal expected(const Literal& x, const Literal& w, const Literal& y) {
  Literal out = convolved(x, w);
  for (int64_t i = 0; i < out.elements(); ++i)
    out.mutable_data<float>()[i] = std::max(out.data<float>()[i] + y.data<float>()[i], 0.0F);
  return out;
}

// The arguments x, w and y, and a slot for x convolved with w.
struct Convolution {
  explicit Convolution(Shape image = kImage, AxisList axes = {}, Mesh mesh = Mesh())
      : b(std::move(mesh)), shape(std::move(image)), over(std::move(axes)) {}
  ScheduleBuilder b;
  Shape shape;
  AxisList over;
  int x = b.input(float32, shape, over), w = b.input(float32, kKernel, {}),
      y = b.input(float32, shape, over), t = b.slot(float32, shape, over);
  void convolve(int lhs, int result) {
    b.add(ConvolutionStep{
        .params = convolution_windows(), .lhs = lhs, .rhs = w, .out = result, .axes = over});
  }
  std::vector<int> found() const {
    StoragePlan plan = plan_storages(b.schedule);
    return join_result_kernels(b.schedule, plan);
  }
  bool joined() const {
    const std::vector<int> convolutions = found();
    return std::any_of(convolutions.begin(), convolutions.end(), [](int i) { return i >= 0; });
  }
};

TEST(ResultKernel, RunsOnTilesOfTheResult) {
  const Shape image{3, 32, 32, 32};
  Convolution c(image);
  c.convolve(c.x, c.t);
  c.b.kernel({c.t, c.y, c.b.output(float32, image, {})}, {}, relu_of_sum);
  EXPECT_EQ(c.found(), (std::vector<int>{-1, 0}));
  // The convolution's result has no memory of its own.
  EXPECT_EQ(arena_bytes(c.b.schedule), 0);
  // The arguments and the result of the program.
  EXPECT_EQ(run_cost(c.b.schedule).bytes(),
            static_cast<double>(4 * (3 * image.elements() + kKernel.elements())));
  const auto program =
      c.b.program({spec_of(image), spec_of(kKernel), spec_of(image)}, {spec_of(image)});
  const DeviceArrayRef x = array_of(image, 1), w = array_of(kKernel, 2), y = array_of(image, 3);
  reset();
  EXPECT_EQ(program->run({x, w, y})[0]->to_literal(),
            expected(x->to_literal(), w->to_literal(), y->to_literal()));
  EXPECT_GT(calls, 3);
  EXPECT_LT(most_elements, image.elements() / 3);
}

// Tiles of a convolution that the library does not have are parts of the whole result.
TEST(ResultKernel, OfAnotherConvolution) {
  for (const bool dilated : {false, true}) {
    ScheduleBuilder b{Mesh()};
    const Shape image{1, 24, 24, 8}, kernel{3, 3, 8, 16};
    // Windows that see only padding are not oneDNN's.
    ConvolutionParams p = convolution_windows();
    const int64_t extra = dilated ? 30 : 0;
    p.low = {1 + extra, 1};
    const Shape result{1, 24 + extra, 24, 16};
    const int x = b.input(float32, image, {}), w = b.input(float32, kernel, {}),
              y = b.input(float32, result, {}), t = b.slot(float32, result, {});
    b.add(ConvolutionStep{.params = p, .lhs = x, .rhs = w, .out = t});
    b.kernel({t, y, b.output(float32, result, {})}, {}, relu_of_sum);
    const auto program =
        b.program({spec_of(image), spec_of(kernel), spec_of(result)}, {spec_of(result)});
    const DeviceArrayRef in = array_of(image, 1), k = array_of(kernel, 2),
                         add = array_of(result, 3);
    const std::vector<Literal> operands{in->to_literal(), k->to_literal()};
    Literal want = convolution_op.evaluate(operands, p)[0];
    const Literal sum = add->to_literal();
    for (int64_t i = 0; i < want.elements(); ++i)
      want.mutable_data<float>()[i] = std::max(want.data<float>()[i] + sum.data<float>()[i], 0.0F);
    EXPECT_EQ(program->run({in, k, add})[0]->to_literal(), want);
  }
}

TEST(ResultKernel, OfEachInstance) {
  const Mesh mesh = test_mesh({4}, {"x"});
  const Shape image{1, 16, 16, 32}, whole{4, 16, 16, 32};
  Convolution c(image, {0}, mesh);
  c.convolve(c.x, c.t);
  c.b.kernel({c.t, c.y, c.b.output(float32, image, {0})}, {0}, relu_of_sum);
  ASSERT_TRUE(c.joined());
  const NamedSharding sharded(mesh, PartitionSpec{"x"}), replicated(mesh, PartitionSpec{});
  const auto program = c.b.program(
      {{float32, whole, sharded}, {float32, kKernel, replicated}, {float32, whole, sharded}},
      {{float32, whole, sharded}});
  const Literal x = random_literal(float32, whole, 1), w = random_literal(float32, kKernel, 2),
                y = random_literal(float32, whole, 3);
  EXPECT_EQ(program
                ->run({device_array(x, sharded), device_array(w, replicated),
                       device_array(y, sharded)})[0]
                ->to_literal(),
            expected(x, w, y));
}

// A kernel between the convolution and its reader runs before the convolution. The memory of the
// convolution's operand is not used again before that.
TEST(ResultKernel, RunsAfterKernelsBetween) {
  Convolution c;
  const int before = c.b.slot(float32, kImage, {}), one = c.b.slot(float32, kImage, {}),
            last = c.b.slot(float32, kImage, {});
  c.b.kernel({c.x, before}, {}, add_one);
  c.convolve(before, c.t);
  c.b.kernel({c.y, one}, {}, add_one);
  c.b.kernel({c.t, one, last}, {}, relu_of_sum);
  c.b.kernel({last, c.b.output(float32, kImage, {})}, {}, add_one);
  EXPECT_EQ(c.found(), (std::vector<int>{-1, -1, -1, 1, -1}));
  // The operand of the convolution, the other operand of its kernel, and the result of that.
  EXPECT_EQ(arena_bytes(c.b.schedule), 3 * kImage.elements() * 4);
  const auto program =
      c.b.program({spec_of(kImage), spec_of(kKernel), spec_of(kImage)}, {spec_of(kImage)});
  const DeviceArrayRef x = array_of(kImage, 1), w = array_of(kKernel, 2), y = array_of(kImage, 3);
  const auto plus_one = [](Literal a) {
    for (int64_t i = 0; i < a.elements(); ++i) a.mutable_data<float>()[i] += 1;
    return a;
  };
  EXPECT_EQ(
      program->run({x, w, y})[0]->to_literal(),
      plus_one(expected(plus_one(x->to_literal()), w->to_literal(), plus_one(y->to_literal()))));
}

// The result must not be in the memory of a donated operand: tiles that are computed later read it.
TEST(ResultKernel, DoesNotOverwriteADonatedOperand) {
  const Shape image{2, 32, 32, 32};
  Convolution c(image);
  c.convolve(c.x, c.t);
  c.b.kernel({c.t, c.x, c.b.output(float32, image, {})}, {}, relu_of_sum);
  ASSERT_TRUE(c.joined());
  const auto program =
      c.b.program({spec_of(image), spec_of(kKernel), spec_of(image)}, {spec_of(image)});
  const DeviceArrayRef w = array_of(kKernel, 2), y = array_of(image, 3);
  for (int i = 0; i < 8; ++i) {
    const DeviceArrayRef x = array_of(image, i);
    const Literal before = random_literal(float32, image, i);
    const std::vector<uint8_t> donate{1, 0, 0};
    EXPECT_EQ(program->run({x, w, y}, donate)[0]->to_literal(),
              expected(before, w->to_literal(), before));
  }
}

TEST(ResultKernel, IsNoOtherKernel) {
  {  // another step reads the result
    Convolution c;
    c.convolve(c.x, c.t);
    c.b.kernel({c.t, c.y, c.b.output(float32, kImage, {})}, {}, relu_of_sum);
    c.b.kernel({c.t, c.b.output(float32, kImage, {})}, {}, add_one);
    EXPECT_FALSE(c.joined());
  }
  {  // the result is one of the program
    Convolution c;
    const int out = c.b.output(float32, kImage, {});
    c.convolve(c.x, out);
    c.b.kernel({out, c.y, c.b.output(float32, kImage, {})}, {}, relu_of_sum);
    EXPECT_FALSE(c.joined());
  }
  {  // a step between is no kernel
    Convolution c;
    const int copy = c.b.slot(float32, kImage, {});
    c.convolve(c.x, c.t);
    c.b.add(CallStep{.name = "copy", .in = {c.y}, .out = {copy}, .fn = [](auto, auto) {}});
    c.b.kernel({c.t, copy, c.b.output(float32, kImage, {})}, {}, relu_of_sum);
    EXPECT_FALSE(c.joined());
  }
  {  // the kernel reads other elements of the result
    for (const int64_t offset : {0, 1}) {
      Convolution c;
      c.convolve(c.x, c.t);
      c.b.kernel({c.t, c.y, c.b.output(float32, kImage, {})}, {}, relu_of_sum);
      auto& step = std::get<KernelStep>(c.b.schedule.steps.back());
      step.kernel.nodes[0].address.offset = offset;
      EXPECT_EQ(c.joined(), offset == 0);
    }
  }
  {  // the kernel computes a sum
    Convolution c;
    c.convolve(c.x, c.t);
    c.b.kernel({c.t, c.y, c.b.output(float32, kImage, {})}, {}, relu_of_sum);
    auto& step = std::get<KernelStep>(c.b.schedule.steps.back());
    step.kernel.loops[0].extents = {4};
    EXPECT_FALSE(c.joined());
  }
  {  // tiles are some features of the result
    ScheduleBuilder b{Mesh()};
    const int x = b.input(float32, {1, 7, 7, 512}, {}), w = b.input(float32, {3, 3, 512, 512}, {}),
              t = b.slot(float32, {1, 7, 7, 512}, {});
    b.add(ConvolutionStep{.params = convolution_windows(), .lhs = x, .rhs = w, .out = t});
    b.kernel({t, b.output(float32, {1, 7, 7, 512}, {})}, {}, add_one);
    StoragePlan plan = plan_storages(b.schedule);
    EXPECT_EQ(join_result_kernels(b.schedule, plan), (std::vector<int>{-1, -1}));
  }
}

}  // namespace
}  // namespace tessera::result_kernel_test
