// Tests what remains of loops whose carries are not read.
#include "tessera/sharding/prune_control.h"

#include <gtest/gtest.h>

#include "tessera/ir/control_flow.h"
#include "tessera/ops/core/array_math.h"
#include "tests/trace/control_flow.h"

namespace tessera::prune_control_test {

using namespace sharding;

namespace {

using namespace array_math;
namespace loops = testing_control;
using Arrays = std::vector<Array>;

// Returns loops within loops, with carries a, b and c: a needs b, which needs itself; nothing needs
// c.
Arrays nested(const Arrays& x, int depth) {
  return loops::scan(2, {}, x, {}, [depth](const Arrays& v) {
    if (depth > 1) return nested(v, depth - 1);
    return Arrays{v[0] + v[1], v[1] * 2.0F, v[2] + v[0]};
  });
}

Function with_loops(int depth) {
  const Type type{.dtype = float32, .shape = {4}};
  return tracing::trace_function([&](const Arrays& x) { return Arrays{nested(x, depth)[0]}; },
                                 std::vector<Type>{type, type, type})
      .function;
}

// Returns the number of carries of each loop, from the outermost loop on.
std::vector<size_t> carries(const Function& f) {
  std::vector<size_t> out;
  for (const Function* at = &f; at;) {
    const Function* inner = nullptr;
    for (const Op& op : at->ops) {
      if (!is_control_flow(op)) continue;
      out.push_back(control_flow_of(op).num_carry);
      inner = control_regions(op)[0].get();
    }
    at = inner;
  }
  return out;
}

TEST(PruneControl, KeepsWhatALiveCarryNeeds) {
  EXPECT_EQ(carries(with_loops(1)), std::vector<size_t>{3});
  EXPECT_EQ(carries(prune_control(with_loops(1))), std::vector<size_t>{2});
}

// Each loop looks for its carries twice. Without care the innermost of thirty loops would be pruned
// a thousand million times.
TEST(PruneControl, LoopsWithinLoopsAreNotPrunedAgainAndAgain) {
  EXPECT_EQ(carries(prune_control(with_loops(30))), std::vector<size_t>(30, 2));
}

}  // namespace
}  // namespace tessera::prune_control_test
