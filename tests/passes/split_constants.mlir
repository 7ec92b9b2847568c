// Each user gets a constant of its own, so that the sharding of one does not spread to the other.
// OPTIONS --devices cpu:4 --passes split_constants
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<2.0> : tensor<4xf32>
    %0 = stablehlo.multiply %x, %c : tensor<4xf32>
    %1 = stablehlo.multiply %y, %c : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
// PRINTS
module @main attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<4xf32>
    %2 = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
    %3 = stablehlo.multiply %arg1, %2 : tensor<4xf32>
    return %1, %3 : tensor<4xf32>, tensor<4xf32>
  }
}
