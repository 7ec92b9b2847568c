module @jit_while_uint8 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf64>) -> (tensor<3xf64> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<ui8>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<ui8>, tensor<3xf64>
    cond {
      %c_1 = stablehlo.constant dense<200> : tensor<ui8>
      %1 = stablehlo.compare LT, %iterArg, %c_1, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<50> : tensor<ui8>
      %1 = stablehlo.add %iterArg, %c_1 : tensor<ui8>
      %2 = stablehlo.cosine %iterArg_0 : tensor<3xf64>
      stablehlo.return %1, %2 : tensor<ui8>, tensor<3xf64>
    }
    return %0#1 : tensor<3xf64>
  }
}
