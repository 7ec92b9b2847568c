// How the parallel index of a kernel is divided: into ranges, or into blocks if operands are read
// across.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tessera/base/thread_pool.h"
#include "tests/runtime/schedules.h"

namespace tessera::kernel_code_test {
namespace {

// A kernel over `parallel`, an index of (outer, rows, between, columns), that adds operands whose
// order is (outer, between, columns, rows).
struct Across {
  int64_t outer, rows, between, columns;
  int operands;
  // How far apart elements of neighbouring rows are in an operand. If it is 1, tiles are transposed
  // in registers (codegen/tiles.cc), and there are no blocks.
  int64_t step = 2;
  Shape shape() const { return {outer, rows, between, columns}; }
  Shape read() const { return {outer, between, columns, rows * step}; }
};

void add_kernel(ScheduleBuilder& b, const Across& c, const std::vector<int>& slots, AxisList axes,
                KernelFn fn) {
  b.kernel(slots, std::move(axes), fn);
  Kernel& kernel = std::get<KernelStep>(b.schedule.steps.back()).kernel;
  kernel.parallel = c.shape();
  const int64_t columns = c.columns * c.rows * c.step;
  for (KernelNode& node : kernel.nodes)
    node.address.parallel = {c.between * columns, c.step, columns, c.rows * c.step};
  int sum = 0;
  for (int i = 1; i < c.operands; ++i) {
    KernelNode add{NodeKind::kScalarOp, float64};
    add.op = ScalarOp::kAdd;
    add.args = {sum, i};
    kernel.nodes.push_back(add);
    sum = static_cast<int>(kernel.nodes.size()) - 1;
  }
  kernel.loops[0].stores[0].node = sum;
  kernel.loops[0].stores[0].address.parallel = {c.rows * c.between * c.columns,
                                                c.between * c.columns, c.columns, 1};
}

struct Sum {
  Literal got, want;
};
Sum sum_of(const Across& c, int64_t instances) {
  const Mesh mesh = test_mesh({instances}, {"x"});
  ScheduleBuilder b{mesh};
  const AxisList axes = instances > 1 ? AxisList{0} : AxisList{};
  std::vector<int> slots;
  for (int i = 0; i < c.operands; ++i) slots.push_back(b.input(float64, c.read(), axes));
  slots.push_back(b.output(float64, c.shape(), axes));
  add_kernel(b, c, slots, axes, nullptr);
  verify(b.schedule);
  const NamedSharding sharding(mesh, instances > 1 ? P("x") : P());
  Shape in = c.read(), out = c.shape();
  in[0] *= instances;
  out[0] *= instances;
  std::vector<ArraySpec> inputs(static_cast<size_t>(c.operands), {float64, in, sharding});
  const Program program(b.schedule, inputs, {{float64, out, sharding}}, process_kernels());
  std::vector<Literal> operands;
  std::vector<DeviceArrayRef> arrays;
  for (int i = 0; i < c.operands; ++i) {
    operands.push_back(random_literal(float64, in, i));
    arrays.push_back(device_array(operands.back(), sharding));
  }
  Sum result{program.run(arrays)[0]->to_literal(), Literal(float64, out)};
  auto* want = result.want.mutable_data<double>();
  for (int64_t o = 0; o < out[0]; ++o)
    for (int64_t r = 0; r < c.rows; ++r)
      for (int64_t m = 0; m < c.between * c.columns; ++m) {
        double sum = 0;
        for (const Literal& x : operands)
          sum += x.data<double>()[((o * c.between * c.columns + m) * c.rows + r) * c.step];
        *want++ = sum;
      }
  return result;
}

TEST(KernelCode, BlocksMakeTheWhole) {
  for (const Across& c :
       {Across{1, 13, 1, 5003, 1}, Across{1, 32, 1, 2111, 3}, Across{2, 9, 1, 3001, 2},
        Across{2, 9, 7, 611, 5}, Across{1, 150, 1, 4099, 1}, Across{3, 4, 5, 6, 2},
        Across{1, 32, 1, 2111, 3, 1}, Across{2, 9, 7, 611, 5, 1}})
    for (const int64_t instances : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} of {}, {} instances", c.operands, c.shape(), instances));
      const Sum r = sum_of(c, instances);
      ASSERT_EQ(r.got.shape(), r.want.shape());
      EXPECT_EQ(std::memcmp(r.got.raw(), r.want.raw(), static_cast<size_t>(r.want.bytes())), 0);
    }
}

std::vector<std::atomic<int>>* visits = nullptr;
std::atomic<int64_t> longest{0};
void visit(void* const*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) ++(*visits)[static_cast<size_t>(i)];
  int64_t seen = longest.load();
  while (seen < end - begin && !longest.compare_exchange_weak(seen, end - begin)) {
  }
}

// Returns the longest range with which a kernel was called. Each element is in one range. `first`
// is called just before the program.
int64_t longest_range(const Across& c, void (*first)() = nullptr) {
  ScheduleBuilder b{test_mesh({1}, {"x"})};
  std::vector<int> slots;
  for (int i = 0; i < c.operands; ++i) slots.push_back(b.input(float64, c.read(), {}));
  slots.push_back(b.output(float64, c.shape(), {}));
  add_kernel(b, c, slots, {}, visit);
  const std::vector<ArraySpec> inputs(static_cast<size_t>(c.operands), spec_of(c.read(), float64));
  const auto program = b.program(inputs, {spec_of(c.shape(), float64)});
  std::vector<std::atomic<int>> counts(static_cast<size_t>(c.shape().elements()));
  visits = &counts;
  longest = 0;
  std::vector<DeviceArrayRef> arrays;
  for (int i = 0; i < c.operands; ++i)
    arrays.push_back(device_array(random_literal(float64, c.read(), i), one_device()));
  if (first) first();
  program->run(arrays);
  EXPECT_TRUE(std::all_of(counts.begin(), counts.end(), [](const auto& n) { return n == 1; }));
  return longest;
}

// Keeps the threads of the pool awake for some microseconds.
void wake_threads() {
  std::atomic<bool> worker_began{false}, caller_ended{false};
  parallel_for(2, [&](int64_t task) {
    if (task == 1) worker_began = true;
    while (task == 0 ? !worker_began : !caller_ended) std::this_thread::yield();
    if (task == 0) caller_ended = true;
  });
}

TEST(KernelCode, AShortKernelIsDividedIfThreadsAreAwake) {
  const int before = num_threads();
  set_num_threads(2);  // no worker runs yet
  const Across short_one{1, 1, 1, 16000, 1, 1};
  EXPECT_EQ(longest_range(short_one), 16000);
  bool divided = false;
  for (int round = 0; round < 1000 && !divided; ++round)
    divided = longest_range(short_one, wake_threads) < 16000;
  EXPECT_TRUE(divided);
  // It is not worth it.
  for (int round = 0; round < 20; ++round)
    EXPECT_EQ(longest_range({1, 1, 1, 3000, 1, 1}, wake_threads), 3000);
  set_num_threads(before);
}

TEST(KernelCode, OperandsThatAreReadAcrossAreReadInBlocks) {
  // Five operands: 5 * 384 lines stay in the cache from one row to the next.
  EXPECT_EQ(longest_range({1, 32, 1, 34320, 5}), 384);
  EXPECT_EQ(longest_range({2, 24, 3, 5000, 5}), 384);
  EXPECT_EQ(longest_range({1, 32, 1, 34320, 20}), 128);
  // All lines of a row stay there.
  EXPECT_GT(longest_range({1, 32, 1, 800, 5}), 800);
  // Neighbouring columns are in one line.
  EXPECT_GT(longest_range({1, 2, 1, 34320, 5}), 384);
  // Tiles read whole lines.
  EXPECT_GT(longest_range({1, 32, 1, 34320, 5, 1}), 384);
}

}  // namespace

// What a kernel computes once, or once for each row, hardly counts: 40 sines of a number, and of a
// number for each row.
TEST(KernelCode, TimesOfWhatIsComputedOnceForARow) {
  const auto kernel_with = [](int64_t row_stride, int64_t column_stride) {
    Kernel k;
    k.parallel = {100, 200};
    KernelNode load{NodeKind::kLoad, float64}, x = load;
    load.buffer = x.buffer = 0;
    load.address.parallel = {200, 1};
    x.address.parallel = {row_stride, column_stride};
    k.nodes = {load, x};
    for (int i = 0; i < 40; ++i) {
      KernelNode node{NodeKind::kScalarOp, float64};
      node.op = ScalarOp::kSin;
      node.args = {static_cast<int>(k.nodes.size()) - 1};
      k.nodes.push_back(node);
    }
    KernelNode sum{NodeKind::kScalarOp, float64};
    sum.op = ScalarOp::kAdd;
    sum.args = {0, static_cast<int>(k.nodes.size()) - 1};
    k.nodes.push_back(sum);
    k.loops.emplace_back();
    k.loops[0].stores.push_back({1, {0, {200, 1}, {}}, static_cast<int>(k.nodes.size()) - 1, -1});
    return k;
  };
  const double all = runtime::kernel_ns(kernel_with(200, 1)),
               rows = runtime::kernel_ns(kernel_with(1, 0)),
               once = runtime::kernel_ns(kernel_with(0, 0));
  EXPECT_LT(once, all / 40);
  EXPECT_GT(rows, once);
  EXPECT_LT(rows, all / 20);
}

}  // namespace tessera::kernel_code_test
