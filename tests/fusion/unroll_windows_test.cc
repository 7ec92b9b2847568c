#include "tessera/fusion/rewrites/unroll_windows.h"

#include "tessera/ir/control_flow.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tests/trace/control_flow.h"
#include "unroll_testing.h"

namespace tessera::fusion_testing::unroll_windows_test {
namespace control = testing_control;
using namespace array_math;

namespace {

Array pooled(const Array& x) {
  Windows w = Windows::of_size({2});
  w.strides = {2};
  return lax::reduce_window_of(ReduceKind::kMax, x, w);
}

TEST(UnrollWindows, OtherOpsStayAsTheyAre) {
  const Function f = trace({f32({8})}, [](const Arrays& x) { return Arrays{lax::exp(x[0])}; });
  EXPECT_EQ(unroll_windows(f), f);
}

TEST(UnrollWindows, SlicesInTheOrderOfTheHeader) {
  const Function f = trace({f32({8})}, [](const Arrays& x) { return Arrays{pooled(x[0])}; });
  const Function by_hand = trace({f32({8})}, [](const Arrays& x) {
    const Array lowest(reduce_identity(ReduceKind::kMax, float32));
    const Array start = lax::broadcast_in_dim(lowest, {4}, {});
    const Array even = lax::slice(x[0], {0}, {7}, {2});
    const Array first = lax::max(start, even);
    return Arrays{lax::max(first, lax::slice(x[0], {1}, {8}, {2}))};
  });
  EXPECT_EQ(unroll_windows(f), by_hand);
}

TEST(UnrollWindows, InsideLoops) {
  const Function f = trace({f32({4}), f32({3, 8})}, [](const Arrays& x) {
    return control::scan(3, {}, {x[0]}, {x[1]},
                         [](const Arrays& b) { return Arrays{b[0] + pooled(b[1])}; });
  });
  const Function unrolled = unroll_windows(f);
  const std::vector<FunctionRef> regions = control_regions(unrolled.ops[0]);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_FALSE(has_op(*regions[0], "reduce_window"));
}

}  // namespace
}  // namespace tessera::fusion_testing::unroll_windows_test
