#include "tessera/runtime/memory_plan.h"

#include <gtest/gtest.h>

#include "tessera/runtime/executable.h"
#include "tests/runtime/schedules.h"

namespace tessera::memory_plan_test {

using namespace runtime;

namespace {

constexpr int64_t kBytes = 64;  // the size of an array

// Returns a schedule that adds one to its input `steps` times. Only two of the temporaries are
// needed at once.
Schedule chain(int steps) {
  ScheduleBuilder b{Mesh()};
  int last = b.input(int32, {kBytes / 4}, {});
  for (int i = 0; i < steps; ++i) {
    const int next =
        i + 1 < steps ? b.slot(int32, {kBytes / 4}, {}) : b.output(int32, {kBytes / 4}, {});
    b.add(CallStep{.name = "add", .in = {last}, .out = {next}, .fn = [](auto, auto) {}});
    last = next;
  }
  return b.schedule;
}

std::shared_ptr<const Schedule> share(Schedule s) {
  return std::make_shared<const Schedule>(std::move(s));
}

// Returns the size of the plan's arena. An executable of the schedule has the same arena.
int64_t arena_of(const Schedule& s) {
  verify(s);
  const InterpretLoops interpret;
  const int64_t made = Executable::num_made();
  const int64_t bytes = arena_bytes(s);
  EXPECT_EQ(Executable::num_made(), made);
  EXPECT_EQ(Executable::make(s, process_kernels())->arena_bytes(), bytes);
  EXPECT_GT(Executable::num_made(), made);
  return bytes;
}

TEST(MemoryPlan, TemporariesShareTheArena) {
  EXPECT_EQ(arena_of(chain(1)), 0);
  EXPECT_EQ(arena_of(chain(2)), kBytes);
  EXPECT_EQ(arena_of(chain(9)), 2 * kBytes);
}

TEST(MemoryPlan, ConstantsAreNotInIt) {
  ScheduleBuilder b{Mesh()};
  const int one = b.constant(Literal::scalar(int32_t{1})), out = b.output(int32, {}, {});
  b.add(CallStep{.name = "copy", .in = {one}, .out = {out}, .fn = [](auto, auto) {}});
  EXPECT_EQ(arena_of(b.schedule), 0);
}

// An iteration needs the temporaries of the body and of the condition, the condition's result, and
// a second copy of the carries.
TEST(MemoryPlan, OfALoop) {
  for (const bool conditional : {false, true}) {
    ScheduleBuilder c{Mesh()};
    const int x = c.input(int32, {kBytes / 4}, {}), between = c.slot(int32, {kBytes / 4}, {}),
              holds = c.output(bool_, {}, {});
    c.add(CallStep{.name = "add", .in = {x}, .out = {between}, .fn = [](auto, auto) {}});
    c.add(CallStep{.name = "ask", .in = {between}, .out = {holds}, .fn = [](auto, auto) {}});
    ScheduleBuilder b{Mesh()};
    LoopStep loop{.body = share(chain(9)), .trip_count = 3};
    if (conditional) loop.cond = share(c.schedule);
    loop.in = {b.input(int32, {kBytes / 4}, {})};
    loop.out = {b.output(int32, {kBytes / 4}, {})};
    b.add(loop);
    EXPECT_EQ(arena_of(b.schedule), (conditional ? 5 : 3) * kBytes);
  }
}

// Only one branch runs. An unlikely branch gets its memory when it is taken.
TEST(MemoryPlan, OfABranch) {
  for (const bool rare : {false, true}) {
    ScheduleBuilder b{Mesh()};
    BranchStep branch{.index = b.input(int32, {}, {})};
    branch.branches = {share(chain(9)), share(chain(2))};
    branch.in = {b.input(int32, {kBytes / 4}, {})};
    branch.out = {b.output(int32, {kBytes / 4}, {})};
    if (rare) branch.expected = 1;
    b.add(branch);
    EXPECT_EQ(arena_of(b.schedule), (rare ? 1 : 2) * kBytes);
  }
}

// Operands that are no matrices in memory are copied. A long contraction is added up in parts.
TEST(MemoryPlan, OfAProduct) {
  ScheduleBuilder b{Mesh()};
  const int x = b.input(float32, {4, 8, 4}, {}), y = b.input(float32, {4, 4, 4}, {}),
            out = b.output(float32, {8, 4}, {});
  DotStep dot;
  dot.lhs = x;
  dot.rhs = y;
  dot.out = out;
  dot.lhs_contract = {0, 2};
  dot.rhs_contract = {0, 1};
  b.add(dot);
  EXPECT_EQ(arena_of(b.schedule), 4 * 8 * 4 * 4);

  ScheduleBuilder l{Mesh()};
  const int u = l.input(float32, {1 << 17}, {}), v = l.input(float32, {1 << 17}, {}),
            sum = l.output(float32, {}, {});
  DotStep scalar;
  scalar.lhs = u;
  scalar.rhs = v;
  scalar.out = sum;
  scalar.lhs_contract = scalar.rhs_contract = {0};
  l.add(scalar);
  EXPECT_EQ(arena_of(l.schedule), 64) << "eight parts of four bytes, in a block of 64";
}

}  // namespace
}  // namespace tessera::memory_plan_test
