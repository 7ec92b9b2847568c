module @jit_dot_bfloat16_to_float32 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x64xbf16>, %arg1: tensor<64x4xbf16>) -> (tensor<4x4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x64xbf16>, tensor<64x4xbf16>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
