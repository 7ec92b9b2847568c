module @jit_reduce_xor attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xi16>, %arg1: tensor<i16>) -> (tensor<5xi16> {jax.result_info = "result[0]"}) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.xor across dimensions = [0] : (tensor<4x5xi16>, tensor<i16>) -> tensor<5xi16>
    return %0 : tensor<5xi16>
  }
}
