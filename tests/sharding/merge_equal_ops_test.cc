#include "tessera/sharding/merge_equal_ops.h"

#include <algorithm>

#include "tessera/control/control.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tests/pass_text.h"
#include "tests/trace/control_flow.h"

namespace tessera::merge_equal_ops_test {

using namespace sharding;

namespace {

using namespace array_math;
namespace loops = testing_control;
using Arrays = std::vector<Array>;

int64_t count(const Function& f, const OpDef& def) {
  return std::count_if(f.ops.begin(), f.ops.end(), [&](const Op& op) { return op.def == &def; });
}
Function merged(const FlatFn& body, const std::vector<Type>& types) {
  return merge_equal_ops(trace_function(body, types).function);
}
Array apply(const FlatFn& body, const Array& x) {
  return bind_op1(call_op, CallParams{loops::region(body, {x.type()})}, {x});
}

TEST(MergeEqualOps, TheFirstOfEqualOpsIsLeft) {
  EXPECT_EQ(test::after(merge_equal_ops, R"(
func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
  %1 = stablehlo.sine %0 : tensor<4xf32>
  %2 = func.call @f(%arg0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.add %arg1, %arg0 : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
func.func private @f(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
  %1 = stablehlo.sine %0 : tensor<4xf32>
  %2 = stablehlo.multiply %1, %0 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
)"),
            R"(
func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
  %1 = stablehlo.sine %0 : tensor<4xf32>
  %2 = stablehlo.multiply %1, %0 : tensor<4xf32>
  %3 = stablehlo.add %arg1, %arg0 : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
)");
}

TEST(MergeEqualOps, CallsOfOneFunctionAreComputedOnce) {
  const FlatFn forward = [](const Arrays& x) { return Arrays{lax::sin(lax::dot(x[0], x[0]))}; };
  const Function f = merged(
      [&](const Arrays& x) {
        return Arrays{lax::reduce_sum(apply(forward, x[0]), {0, 1}), apply(forward, x[0]),
                      forward(x)[0] * 2};
      },
      {{float32, {8, 8}}});
  EXPECT_EQ(count(f, dot_general_op), 1);
  EXPECT_EQ(count(f, sin_op), 1);
  EXPECT_EQ(count(f, call_op), 0);
}

TEST(MergeEqualOps, ParamsOperandsAndTypesCount) {
  const Function f = merged(
      [](const Arrays& x) {
        return Arrays{lax::reduce_sum(x[0], {0}), lax::reduce_sum(x[0], {1}),
                      lax::reduce_sum(x[1], {0}), lax::reduce_max(x[0], {0})};
      },
      {{float32, {8, 8}}, {float32, {8, 8}}});
  EXPECT_EQ(count(f, reduce_op), 4);
}

TEST(MergeEqualOps, WhatStandsBehindABarrierIsComputedAgain) {
  const Function f = merged(
      [](const Arrays& x) {
        return Arrays{lax::sin(x[0]), lax::sin(lax::optimization_barrier(x[0]))};
      },
      {{float32, {8}}});
  EXPECT_EQ(count(f, sin_op), 2);
}

TEST(MergeEqualOps, RegionsAreMergedInsideAndAsAWhole) {
  const auto loop = [](const Array& x) {
    return loops::scan(3, {}, {x}, {},
                       [](const Arrays& b) { return Arrays{lax::sin(b[0]) + lax::sin(b[0])}; })[0];
  };
  const Function f = merged(
      [&](const Arrays& x) {
        return Arrays{loop(x[0]), loop(x[0])};
      },
      {{float32, {8}}});
  ASSERT_EQ(count(f, scan_op), 1);
  EXPECT_EQ(count(*f.ops[0].params.as<ScanParams>().body, sin_op), 1);
}

// Large constants are compared by their address, not by their contents.
TEST(MergeEqualOps, LargeConstantsAreEqualToThemselvesOnly) {
  const auto constants = [](int64_t n) {
    const Literal one = Literal(float32, {n}), same = Literal(float32, {n});
    Function f;
    const std::vector<Type> type{{float32, {n}}};
    for (const Literal& value : {one, one, same})
      f.outputs.push_back(f.add_op(constant_op, ConstantParams{value, {n}}, {}, type)[0]);
    return merge_equal_ops(f).ops.size();
  };
  EXPECT_EQ(constants(1 << 14), 1u);
  EXPECT_EQ(constants((1 << 14) + 1), 2u);
}

// A weak scalar and a strong one have the same value, but different types.
TEST(MergeEqualOps, ResultTypesCount) {
  Function f;
  for (const bool weak : {true, false, true}) {
    const std::vector<Type> type{{.dtype = float32, .shape = {}, .weak = weak}};
    f.outputs.push_back(
        f.add_op(constant_op, ConstantParams{Literal::scalar(2.0f), {}, weak}, {}, type)[0]);
  }
  const Function out = merge_equal_ops(f);
  EXPECT_EQ(out.ops.size(), 2u);
  EXPECT_EQ(out.outputs[0], out.outputs[2]);
}

}  // namespace
}  // namespace tessera::merge_equal_ops_test
