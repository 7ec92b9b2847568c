module @jit_concatenate_4 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x1x3xi16>, %arg1: tensor<2x0x3xi16>, %arg2: tensor<2x3x3xi16>, %arg3: tensor<2x2x3xi16>) -> (tensor<2x6x3xi16> {jax.result_info = "result"}) {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, %arg3, dim = 1 : (tensor<2x1x3xi16>, tensor<2x0x3xi16>, tensor<2x3x3xi16>, tensor<2x2x3xi16>) -> tensor<2x6x3xi16>
    return %0 : tensor<2x6x3xi16>
  }
}
