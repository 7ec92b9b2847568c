#include "tessera/fusion/rewrites/loop_over_rows.h"

#include <algorithm>

#include "fusion_testing.h"
#include "tessera/fusion/rewrites/row_part.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ops/structural/concatenate.h"
#include "tests/trace/control_flow.h"

namespace tessera::fusion_testing::loop_over_rows_test {
namespace control = testing_control;
using namespace array_math;

namespace {

// Returns the running state s = a + s / 2 over the last dimension of a [x, y, z], as JAX writes
// it: the levels are moved to the front, a loop goes over them, and they are moved back.
Array recurrence(const Array& a) {
  const int64_t levels = a.shape()[2];
  const Array front = lax::transpose(a, {2, 0, 1});
  const Array zero = lax::full({a.shape()[0], a.shape()[1]}, 0, a.dtype());
  const Arrays out = control::scan(levels, {}, {zero}, {front}, [](const Arrays& b) {
    const Array state = b[1] + b[0] * 0.5f;
    return Arrays{state, state};
  });
  return lax::transpose(out[1], {1, 2, 0});
}

// Returns the number of trips of the first loop that contains a loop; 0 if there is none.
int64_t tiles_of(const Function& f) {
  for (const Op& op : f.ops) {
    if (!is_control_flow(op)) continue;
    const ControlFlow flow = control_flow_of(op);
    const std::vector<Op>& inside = flow.body().ops;
    if (std::any_of(inside.begin(), inside.end(), [](const Op& o) { return is_control_flow(o); }))
      return flow.trip_count.value_or(-1);
  }
  return 0;
}

void expect_same_bits(const Function& f, const Function& g) {
  const std::vector<Literal> inputs = random_inputs(f);
  EXPECT_EQ(evaluate(f, inputs), evaluate(g, inputs));
}

constexpr int64_t kX = 64, kY = 128, kZ = 32;

TEST(LoopOverRows, ARecurrenceWithTheOpsAroundIt) {
  const Function f = trace({f32({kX, kY, kZ}), f32({kX, kY, 1}), f32({kZ})}, [](const Arrays& x) {
    const Array wide = lax::broadcast_in_dim(lax::reshape(x[1], {kX, kY}), {kX, kY, kZ}, {0, 1});
    const Array a = lax::exp(x[0]) + wide;
    return Arrays{lax::tanh(recurrence(a)) + lax::broadcast_in_dim(x[2], {kX, kY, kZ}, {2})};
  });
  const Function by_rows = loop_over_rows(f);
  EXPECT_EQ(tiles_of(by_rows), 16);  // of 4 rows, each of 16 KiB
  expect_same_bits(f, by_rows);
  // Everything but reshapes is in the loop.
  for (const Op& op : by_rows.ops)
    EXPECT_TRUE(is_control_flow(op) || op.def->name == "reshape") << op.def->name;
}

// A shift along x needs other rows, so it is outside; the recurrence that reads its result is not.
TEST(LoopOverRows, NeighboursAlongRowsAreOutside) {
  const Function f = trace({f32({kX + 1, kY, kZ})}, [](const Arrays& x) {
    const Array left = lax::slice(x[0], {0, 0, 0}, {kX, kY, kZ}),
                right = lax::slice(x[0], {1, 0, 0}, {kX + 1, kY, kZ});
    const Array y = recurrence(lax::sin(right - left));
    return Arrays{lax::slice(y, {1, 0, 0}, {kX, kY, kZ}) -
                  lax::slice(y, {0, 0, 0}, {kX - 1, kY, kZ})};
  });
  const Function by_rows = loop_over_rows(f);
  EXPECT_EQ(tiles_of(by_rows), 16);
  expect_same_bits(f, by_rows);
}

TEST(LoopOverRows, TheStateOfAWhileLoopIsDivided) {
  constexpr int64_t kState = 1 << 18;
  const Function f = trace({f32({kState})}, [](const Arrays& x) {
    const Array zero = lax::constant(Literal::scalar(int32_t{0}));
    const Arrays out = control::while_loop(
        {zero, x[0]},
        [](const Arrays& b) {
          return Arrays{lax::lt(b[0], lax::constant(Literal::scalar(int32_t{3})))};
        },
        [](const Arrays& b) {
          return Arrays{b[0] + lax::constant(Literal::scalar(int32_t{1})), lax::sin(b[1])};
        });
    return Arrays{out[1]};
  });
  const Function by_rows = loop_over_rows(f);
  EXPECT_EQ(tiles_of(by_rows), 16);
  expect_same_bits(f, by_rows);
}

TEST(LoopOverRows, SmallArraysStayAsTheyAre) {
  const Function f =
      trace({f32({16, 16, kZ})}, [](const Arrays& x) { return Arrays{recurrence(x[0])}; });
  EXPECT_EQ(loop_over_rows(f), f);
}

// Each trip needs the mean over all rows.
TEST(LoopOverRows, TripsThatMixRowsStayAsTheyAre) {
  const Function f = trace({f32({kX, kY * kZ})}, [](const Arrays& x) {
    return control::scan(3, {}, {x[0]}, {}, [](const Arrays& b) {
      const Array sum = lax::reduce_sum(b[0], {0});
      return Arrays{b[0] - lax::broadcast_in_dim(sum, {kX, kY * kZ}, {1})};
    });
  });
  EXPECT_EQ(loop_over_rows(f), f);
}

// A trip reads the row before, so tiles would need rows of other tiles.
TEST(LoopOverRows, TripsThatShiftRowsStayAsTheyAre) {
  const Function f = trace({f32({kX, kY * kZ})}, [](const Arrays& x) {
    return control::scan(3, {}, {x[0]}, {}, [](const Arrays& b) {
      const Array above = lax::slice(b[0], {0, 0}, {kX - 1, kY * kZ}),
                  last = lax::slice(b[0], {kX - 1, 0}, {kX, kY * kZ});
      return Arrays{lax::concatenate(Arrays{last, above}, 0) * 0.5f};
    });
  });
  EXPECT_EQ(loop_over_rows(f), f);
}

// An index along the rows would count from the first row of a tile.
TEST(LoopOverRows, TheNumberOfARowIsComputedOutside) {
  const Function f = trace({f32({kX, kY, kZ})}, [](const Arrays& x) {
    return Arrays{recurrence(x[0] + lax::iota(float32, {kX, kY, kZ}, 0))};
  });
  expect_same_bits(f, loop_over_rows(f));
}

// The product is fused into the sum if only the sum reads it, so it is not stored in between.
TEST(LoopOverRows, NoProductIsSeparatedFromItsSum) {
  const Function f = trace({f32({kX + 1, kY, kZ})}, [](const Arrays& x) {
    const Array left = lax::slice(x[0], {0, 0, 0}, {kX, kY, kZ}),
                right = lax::slice(x[0], {1, 0, 0}, {kX + 1, kY, kZ});
    return Arrays{recurrence(left * right + 1.0f)};
  });
  const std::optional<RowPart> part = find_row_part(f);
  ASSERT_TRUE(part);
  const std::vector<int> producers = f.producers();
  for (ValueId v : part->inputs) {
    const int from = producers[static_cast<size_t>(v)];
    EXPECT_TRUE(from < 0 || f.ops[static_cast<size_t>(from)].def->name != "multiply");
  }
  expect_same_bits(f, loop_over_rows(f));
}

}  // namespace
}  // namespace tessera::fusion_testing::loop_over_rows_test
