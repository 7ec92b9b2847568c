// Only the two largest of a sharded row are read: each device sorts its shard, and the first elements of all are sorted again.
// OPTIONS --devices cpu:4 --passes propagate split_sorts
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2xi32> {
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %p = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) : (tensor<64xi32>) -> tensor<64xi32>
    %1 = stablehlo.slice %0 [0:2] : (tensor<64xi32>) -> tensor<2xi32>
    return %1 : tensor<2xi32>
  }
}
// PRINTS
module @main attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64xi32>) -> tensor<4x16xi32>
    %1 = "stablehlo.sort"(%0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.compare GT, %arg1, %arg2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<4x16xi32>) -> tensor<4x16xi32>
    %3 = stablehlo.slice %1 [0:4, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<4x16xi32>) -> tensor<4x2xi32>
    %4 = stablehlo.reshape %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<4x2xi32>) -> tensor<8xi32>
    %5 = "stablehlo.sort"(%4) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
      %6 = stablehlo.compare GT, %arg3, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xi32>) -> tensor<8xi32>
    %7 = stablehlo.slice %5 [0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xi32>) -> tensor<2xi32>
    return %7 : tensor<2xi32>
  }
}
