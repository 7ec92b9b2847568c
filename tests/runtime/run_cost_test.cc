// The costs of runs of schedules that are built by hand.
#include "tessera/runtime/run_cost.h"

#include <gtest/gtest.h>

#include "tests/runtime/schedules.h"

namespace tessera::run_cost_test {

using namespace runtime;

namespace {

void no_code(void* const*, int64_t, int64_t) {}

std::shared_ptr<const Schedule> share(Schedule s) {
  return std::make_shared<const Schedule>(std::move(s));
}

StepCost total(const RunCost& cost) {
  StepCost out;
  for (const StepCost& step : cost.steps) {
    out.runs += step.runs;
    out.bytes_read += step.bytes_read;
    out.bytes_written += step.bytes_written;
    out.evaluations += step.evaluations;
    out.interpreted += step.interpreted;
  }
  EXPECT_EQ(out.runs, cost.runs());
  EXPECT_EQ(out.bytes(), cost.bytes());
  EXPECT_EQ(out.evaluations, cost.evaluations());
  EXPECT_EQ(out.interpreted, cost.interpreted());
  return out;
}

TEST(RunCost, OfKernels) {
  ScheduleBuilder b{Mesh()};
  const int x = b.input(float32, {100}, {}), y = b.input(float32, {}, {}),
            middle = b.slot(float32, {100}, {}), out = b.output(float32, {100}, {});
  b.kernel({x, y, middle}, {}, no_code);
  b.kernel({middle, out}, {}, no_code);
  const RunCost cost = run_cost(b.schedule);
  const StepCost all = total(cost);
  EXPECT_EQ(all.runs, 2);
  EXPECT_EQ(all.bytes_read, 400 + 4 + 400);  // the scalar is read once
  EXPECT_EQ(all.bytes_written, 800);
  EXPECT_EQ(all.evaluations, 100 + 1 + 100);
  EXPECT_EQ(cost.arena_bytes, 448);
  EXPECT_EQ(cost.allocations, 2);  // one for the result, one for the arena
}

TEST(RunCost, OfEveryDevice) {
  ScheduleBuilder b{test_mesh({4}, {"x"})};
  const int x = b.input(float32, {10}, {0}), out = b.output(float32, {10}, {0});
  b.kernel({x, out}, {0}, no_code);
  EXPECT_EQ(total(run_cost(b.schedule)).bytes_written, 4 * 40);
}

// Reads that do not depend on one of the indices, and a read at a computed position.
TEST(RunCost, LoadsCountWhatTheyReach) {
  ScheduleBuilder b{Mesh()};
  const int table = b.input(float32, {1000}, {}), row = b.input(float32, {8}, {}),
            at = b.input(int32, {}, {}), out = b.output(float32, {16, 8}, {});
  KernelStep step;
  step.kernel.parallel = {16, 8};
  step.kernel.loops.push_back({});
  step.kernel.buffers = {{float32, BufferKind::kInput, 1000},
                         {float32, BufferKind::kInput, 8},
                         {int32, BufferKind::kInput, 1},
                         {float32, BufferKind::kOutput, 128}};
  const auto load = [&](int buffer, DType dtype, Dims parallel) {
    KernelNode node{NodeKind::kLoad, dtype};
    node.buffer = buffer;
    node.address = {0, std::move(parallel), {}};
    step.kernel.nodes.push_back(node);
  };
  load(2, int32, {0, 0});
  load(0, float32, {0, 0});
  step.kernel.nodes.back().dynamic = {{0, 1}};
  load(1, float32, {0, 1});
  KernelNode sum{NodeKind::kScalarOp, float32};
  sum.args = {1, 2};
  step.kernel.nodes.push_back(sum);
  step.kernel.loops[0].stores.push_back({3, {0, {8, 1}, {}}, 3, -1});
  step.slots = {table, row, at, out};
  b.add(step);
  const StepCost all = total(run_cost(b.schedule));
  EXPECT_EQ(all.bytes_read, 4 + 4 + 32);
  EXPECT_EQ(all.bytes_written, 128 * 4);
  // The first two loads run once, the load of the row and the sum in the innermost loop.
  EXPECT_EQ(all.evaluations, 1 + 1 + 128 + 128);
}

// Returns a body that updates an element of its carry, and then reads the old carry or not.
Schedule updating_body(bool reads_again) {
  ScheduleBuilder b{Mesh()};
  const int start = b.input(int32, {}, {}), value = b.input(float32, {1}, {}),
            carry = b.input(float32, {1000}, {});
  const int updated = b.slot(float32, {1000}, {}, Slot::Kind::kOutput);
  b.add(UpdateStep{.in = carry, .update = value, .out = updated, .starts = {start}});
  b.schedule.slots[static_cast<size_t>(updated)].index = 0;
  b.schedule.outputs = {updated};
  if (reads_again) {
    const int result = b.output(float32, {1000}, {});
    b.add(CallStep{.name = "copy", .in = {carry}, .out = {result}, .fn = [](auto, auto) {}});
  }
  return std::move(b.schedule);
}

Schedule updating_loop(bool reads_again, int64_t trips) {
  ScheduleBuilder b{Mesh()};
  LoopStep loop{.body = share(updating_body(reads_again)), .trip_count = trips};
  loop.consts = {b.input(int32, {}, {}), b.input(float32, {1}, {})};
  loop.in = {b.input(float32, {1000}, {})};
  loop.out = {b.output(float32, {1000}, {})};
  if (reads_again) loop.ys = {b.output(float32, {trips, 1000}, {})};
  b.add(loop);
  verify(b.schedule);
  return std::move(b.schedule);
}

TEST(RunCost, OfALoopThatUpdatesInPlace) {
  for (bool as_steps : {false, true}) {
    std::optional<InterpretLoops> interpret;
    if (as_steps) interpret.emplace();
    const RunCost cost = run_cost(updating_loop(false, 50));
    const StepCost all = total(cost);
    // The carry is copied once to its final memory; then each iteration writes an element.
    EXPECT_EQ(all.bytes_written, 4000 + 50 * 4);
    EXPECT_EQ(all.bytes_read, 4000 + 50 * 4);
    EXPECT_EQ(all.runs, 51);
    EXPECT_EQ(all.interpreted, as_steps ? 50 : 0);
    EXPECT_EQ(cost.steps[0].name.find("copy of a carry"), 0u);
  }
}

TEST(RunCost, OfALoopThatMayNotUpdateInPlace) {
  const StepCost all = total(run_cost(updating_loop(true, 50)));
  EXPECT_GE(all.bytes_written, 50 * (4000 + 4000));
}

// The body updates its carry in place and returns another value computed from it.
TEST(RunCost, OfALoopWhoseUpdatedCarryEndsElsewhere) {
  ScheduleBuilder inside{Mesh()};
  const int start = inside.input(int32, {}, {}), value = inside.input(float32, {1}, {}),
            carry = inside.input(float32, {1000}, {}), updated = inside.slot(float32, {1000}, {}),
            next = inside.output(float32, {1000}, {});
  inside.add(UpdateStep{.in = carry, .update = value, .out = updated, .starts = {start}});
  inside.add(CallStep{.name = "call", .in = {updated}, .out = {next}, .fn = [](auto, auto) {}});
  ScheduleBuilder b{Mesh()};
  LoopStep loop{.body = share(std::move(inside.schedule)), .trip_count = 50};
  loop.consts = {b.input(int32, {}, {}), b.input(float32, {1}, {})};
  loop.in = {b.input(float32, {1000}, {})};
  loop.out = {b.output(float32, {1000}, {})};
  b.add(loop);
  verify(b.schedule);
  const InterpretLoops interpret;
  const StepCost all = total(run_cost(b.schedule));
  // The caller's array is copied once. Each trip writes one element and the result of the call.
  EXPECT_EQ(all.bytes_written, 4000 + 50 * (4 + 4000));
}

TEST(RunCost, OfABranchTheCostliestWay) {
  ScheduleBuilder small{Mesh()}, large{Mesh()};
  for (auto [b, calls] : {std::pair(&small, 1), std::pair(&large, 3)}) {
    int last = b->input(float32, {100}, {});
    for (int k = 0; k < calls; ++k) {
      const int next = k + 1 < calls ? b->slot(float32, {100}, {}) : b->output(float32, {100}, {});
      b->add(CallStep{.name = "call", .in = {last}, .out = {next}, .fn = [](auto, auto) {}});
      last = next;
    }
  }
  ScheduleBuilder b{Mesh()};
  BranchStep branch{.index = b.input(int32, {}, {})};
  branch.branches = {share(large.schedule), share(small.schedule)};
  branch.in = {b.input(float32, {100}, {})};
  branch.out = {b.output(float32, {100}, {})};
  b.add(branch);
  EXPECT_EQ(total(run_cost(b.schedule)).bytes_written, 3 * 400);
  // Unlikely branches do not count.
  std::get<BranchStep>(b.schedule.steps[0]).expected = 1;
  EXPECT_EQ(total(run_cost(b.schedule)).bytes_written, 400);
}

}  // namespace
}  // namespace tessera::run_cost_test
