module @jit_slice_plain attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xf32>) -> (tensor<1x3x2xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [1:2, 0:3, 1:3] : (tensor<2x3x4xf32>) -> tensor<1x3x2xf32>
    return %0 : tensor<1x3x2xf32>
  }
}
