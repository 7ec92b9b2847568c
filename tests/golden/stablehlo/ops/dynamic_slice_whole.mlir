module @jit_dynamic_slice_whole attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>, %arg1: tensor<i32>) -> (tensor<4x5xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [4, 5] : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
    return %0 : tensor<4x5xf32>
  }
}
