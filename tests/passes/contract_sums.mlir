// A sum over the batch of a batched product is one product, which contracts the batch: what sum(vmap(grad(loss))) costs.
// OPTIONS --passes contract_sums
func.func public @main(%x: tensor<5x3xf32>, %y: tensor<5x4xf32>) -> tensor<3x4xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<5x3xf32>, tensor<5x4xf32>) -> tensor<5x3x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5x3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x3xf32>, %arg1: tensor<5x4xf32>) -> (tensor<3x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<5x3xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
}
