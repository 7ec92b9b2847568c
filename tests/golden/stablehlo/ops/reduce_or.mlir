module @jit_reduce_or attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xi1>, %arg1: tensor<i1>) -> (tensor<4xi1> {jax.result_info = "result[0]"}) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.or across dimensions = [1] : (tensor<4x5xi1>, tensor<i1>) -> tensor<4xi1>
    return %0 : tensor<4xi1>
  }
}
