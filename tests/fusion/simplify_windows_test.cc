// Pads that become part of folds of windows: tests which are merged, and that no bit changes.
#include "tessera/fusion/rewrites/simplify_windows.h"

#include <limits>

#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/pad.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::simplify_windows_test {

using namespace fusion;

namespace {

struct Padded {
  ReduceKind kind = ReduceKind::kSum;
  Type type;
  Array value, init;
  Dims low, high, interior;
  Windows windows;
};

// Returns whether the fold reads the operand of the pad. Compares the results.
bool merges(const Padded& c) {
  const Function f = trace({c.type}, [&](const Arrays& x) {
    const Array padded = lax::pad(x[0], c.value, c.low, c.high, c.interior);
    return lax::reduce_window(std::span(&padded, 1), std::span(&c.init, 1), c.kind, c.windows);
  });
  const Function merged = merge_window_pads(f);
  verify(merged);
  const std::vector<Literal> inputs = random_inputs(f);
  EXPECT_EQ(evaluate(merged, inputs), evaluate(f, inputs));
  for (const Op& op : merged.ops)
    if (op.def == &reduce_window_op) return op.operands[0] == merged.inputs[0];
  ADD_FAILURE() << "no fold of windows";
  return false;
}

// The gradient of average pooling with windows of `size` that do not overlap, as JAX writes it.
Padded pooling(int64_t size) {
  const int64_t d = size - 1;
  return {.type = f32({2, 3, 4, 3}),
          .value = Array(0.f),
          .init = Array(0.f),
          .low = {0, d, d, 0},
          .high = {0, d, d, 0},
          .interior = {0, d, d, 0},
          .windows = Windows::of_size({1, size, size, 1})};
}

TEST(SimplifyWindows, PadsBetweenElements) {
  EXPECT_TRUE(merges(pooling(2)));
  EXPECT_TRUE(merges(pooling(8)));
  Padded overlapping = pooling(3);
  overlapping.interior = {0, 1, 1, 0};
  overlapping.kind = ReduceKind::kMax;
  overlapping.value = overlapping.init = Array(-std::numeric_limits<float>::infinity());
  EXPECT_TRUE(merges(overlapping));
}

TEST(SimplifyWindows, PadsOfDilatedWindows) {
  Padded c = pooling(2);
  c.interior = {0, 0, 0, 0};
  c.windows.base_dilation = {1, 2, 2, 1};
  c.windows.low = {0, 1, 0, 0};
  EXPECT_TRUE(merges(c));
}

TEST(SimplifyWindows, OtherPadsRemain) {
  Padded c = pooling(2);
  c.value = Array(1.f);
  EXPECT_FALSE(merges(c));
  c = pooling(2);
  c.init = Array(-0.f);  // a sum of -0 and the padding is 0
  EXPECT_FALSE(merges(c));
  c = pooling(2);
  c.low[1] = -1;
  c.windows.low[1] = 1;  // the removed row would come back
  EXPECT_FALSE(merges(c));
}

// Without the pad, these windows could not be unrolled.
TEST(SimplifyWindows, FoldsThatWouldNotBeUnrolled) {
  Padded c = pooling(2);
  c.windows.strides = {1, 2, 2, 1};
  EXPECT_FALSE(merges(c));
}

}  // namespace
}  // namespace tessera::fusion_testing::simplify_windows_test
