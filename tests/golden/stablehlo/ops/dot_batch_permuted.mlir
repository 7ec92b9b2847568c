module @jit_dot_batch_permuted attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4x2xf32>, %arg1: tensor<5x2x4xf32>) -> (tensor<2x3x5xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [2] x [1], contracting_dims = [1] x [2], precision = [DEFAULT, DEFAULT] : (tensor<3x4x2xf32>, tensor<5x2x4xf32>) -> tensor<2x3x5xf32>
    return %0 : tensor<2x3x5xf32>
  }
}
