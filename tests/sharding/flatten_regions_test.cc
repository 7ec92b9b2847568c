#include "tessera/sharding/flatten_regions.h"

#include "tests/pass_text.h"

namespace tessera::flatten_regions_test {

using namespace sharding;

namespace {

using test::after;

TEST(FlattenRegions, CallsAreInlined) {
  EXPECT_EQ(after(flatten_regions, R"(
func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = func.call @outer(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @outer(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = func.call @inner(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.cosine %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @inner(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = stablehlo.sine %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
)"),
            R"(
func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = stablehlo.sine %arg0 : tensor<4xf32>
  %1 = stablehlo.cosine %0 : tensor<4xf32>
  %2 = stablehlo.sine %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
)");
}

// The computation of one device is between the borders: an 8 x 4 array over two devices is 4 x 4.
TEST(FlattenRegions, ManualComputationsBecomeBorders) {
  EXPECT_EQ(after(flatten_regions, R"(
module {
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func public @main(%arg0: tensor<8x4xf32>) -> (tensor<4x4xf32>) {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%arg1: tensor<4x4xf32>) {
    %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    sdy.return %1 : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
}
)"),
            R"(
func.func public @main(%arg0: tensor<8x4xf32>) -> (tensor<4x4xf32>) {
  %0 = stablehlo.custom_call @tessera.full_to_shard(%arg0) {api_version = 4 : i32, backend_config = {mesh = @mesh, spec = #sdy.sharding<@mesh, [{"x"}, {}]>, manual_axes = ["x"]}} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
  ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
    %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) {tessera.mesh = @mesh, tessera.axes = ["x"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.custom_call @tessera.shard_to_full(%1) {api_version = 4 : i32, backend_config = {mesh = @mesh, spec = #sdy.sharding<@mesh, [{}, {}]>, manual_axes = ["x"]}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
)");
}

TEST(FlattenRegions, LoopsKeepTheirRegionsFlat) {
  EXPECT_EQ(after(flatten_regions, R"(
func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<4xf32>
  cond {
    %c_1 = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = func.call @f(%iterArg_0) : (tensor<4xf32>) -> tensor<4xf32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %iterArg, %c_1 : tensor<i32>
    stablehlo.return %2, %1 : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}
func.func private @f(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = stablehlo.sine %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
)"),
            R"(
func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.while(%arg1 = %0, %arg2 = %arg0) : tensor<i32>, tensor<4xf32> cond {
    %2 = stablehlo.constant dense<3> : tensor<i32>
    %3 = stablehlo.compare LT, %arg1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  } do {
    %4 = stablehlo.sine %arg2 : tensor<4xf32>
    %5 = stablehlo.constant dense<1> : tensor<i32>
    %6 = stablehlo.add %arg1, %5 : tensor<i32>
    stablehlo.return %6, %4 : tensor<i32>, tensor<4xf32>
  }
  return %1#1 : tensor<4xf32>
}
)");
}

}  // namespace
}  // namespace tessera::flatten_regions_test
