module @jit_while_zero_trips attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf64>) -> (tensor<3xf64> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<3> : tensor<i64>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i64>, tensor<3xf64>
    cond {
      %c_1 = stablehlo.constant dense<0> : tensor<i64>
      %2 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i64>
      %2 = stablehlo.add %iterArg, %c_1 : tensor<i64>
      %3 = stablehlo.cosine %iterArg_0 : tensor<3xf64>
      stablehlo.return %2, %3 : tensor<i64>, tensor<3xf64>
    }
    %1 = stablehlo.multiply %0#1, %0#1 : tensor<3xf64>
    return %1 : tensor<3xf64>
  }
}
