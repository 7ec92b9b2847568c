module @jit_dynamic_slice_int8_low attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>, %arg1: tensor<i8>) -> (tensor<2x3xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [2, 3] : (tensor<4x5xf32>, tensor<i8>, tensor<i8>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
