module @jit_pad_empty attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<0xi32>, %arg1: tensor<i32>) -> (tensor<3xi32> {jax.result_info = "result"}) {
    %0 = stablehlo.pad %arg0, %arg1, low = [2], high = [1], interior = [3] : (tensor<0xi32>, tensor<i32>) -> tensor<3xi32>
    return %0 : tensor<3xi32>
  }
}
