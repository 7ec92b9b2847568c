#include "tessera/sharding/split_constants.h"

#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/trace/trace.h"
#include "tests/pass_text.h"

namespace tessera::split_constants_test {

using namespace sharding;

namespace {

using test::after;
using test::text_of;

TEST(SplitConstants, OneForEachUser) {
  EXPECT_EQ(after(split_constants, R"(
func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %cst = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.add %arg0, %cst : tensor<4xf32>
  %1 = stablehlo.multiply %arg1, %cst : tensor<4xf32>
  return %0, %1, %cst : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
)"),
            R"(
func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
  %1 = stablehlo.add %arg0, %0 : tensor<4xf32>
  %2 = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
  %3 = stablehlo.multiply %arg1, %2 : tensor<4xf32>
  %4 = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
  return %1, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
)");
}

// A whole table of positions is copied for each user; one op that reads it twice has one copy.
TEST(SplitConstants, WhatIsMadeOfConstants) {
  EXPECT_EQ(after(split_constants, R"(
func.func public @main(%arg0: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<4x4xf32>
  %1 = stablehlo.sine %0 : tensor<4x4xf32>
  %2 = stablehlo.add %arg0, %1 : tensor<4x4xf32>
  %3 = stablehlo.clamp %1, %arg0, %1 : tensor<4x4xf32>
  return %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}
)"),
            R"(
func.func public @main(%arg0: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<4x4xf32>
  %1 = stablehlo.sine %0 : tensor<4x4xf32>
  %2 = stablehlo.add %arg0, %1 : tensor<4x4xf32>
  %3 = stablehlo.iota dim = 0 : tensor<4x4xf32>
  %4 = stablehlo.sine %3 : tensor<4x4xf32>
  %5 = stablehlo.clamp %4, %arg0, %4 : tensor<4x4xf32>
  return %2, %5 : tensor<4x4xf32>, tensor<4x4xf32>
}
)");
}

TEST(SplitConstants, WhatSpreadsOneScalar) {
  EXPECT_EQ(after(split_constants, R"(
func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.add %arg0, %0 : tensor<4xf32>
  %2 = stablehlo.multiply %arg0, %0 : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
)"),
            R"(
func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.add %arg0, %0 : tensor<4xf32>
  %2 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %3 = stablehlo.multiply %arg0, %2 : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
)");
}

TEST(SplitConstants, InLoops) {
  EXPECT_EQ(after(split_constants, R"(
func.func public @main(%arg0: tensor<i32>) -> (tensor<i32>) {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<i32>
  cond {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %iterArg, %c : tensor<i32>
    %2 = stablehlo.multiply %1, %c : tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }
  return %0 : tensor<i32>
}
)"),
            R"(
func.func public @main(%arg0: tensor<i32>) -> (tensor<i32>) {
  %0 = stablehlo.while(%arg1 = %arg0) : tensor<i32> cond {
    %1 = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.compare LT, %arg1, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %3 = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.add %arg1, %3 : tensor<i32>
    %5 = stablehlo.constant dense<1> : tensor<i32>
    %6 = stablehlo.multiply %4, %5 : tensor<i32>
    stablehlo.return %6 : tensor<i32>
  }
  return %0 : tensor<i32>
}
)");
}

// Expressions of sixteen ops are copied. With a seventeenth op they are one value for two users.
TEST(SplitConstants, LargeExpressionsAreShared) {
  auto ops_of = [](int length) {
    const Function f =
        trace_function(
            [&](const std::vector<Array>& x) {
              Array table = lax::iota(float32, {4}, 0);
              for (int i = 1; i < length; ++i) table = lax::sin(table);
              return std::vector<Array>{lax::add(x[0], table), lax::mul(x[0], table)};
            },
            std::vector<Type>{{float32, {4}}})
            .function;
    return split_constants(f).ops.size();
  };
  EXPECT_EQ(ops_of(16), 2u * 16 + 2);
  EXPECT_EQ(ops_of(17), 16u + 1 + 2);
}

}  // namespace
}  // namespace tessera::split_constants_test
