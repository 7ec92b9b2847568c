module @jit_scan_checkpoint attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4xf64>, %arg1: tensor<6x4x4xf64>) -> (tensor<2x4xf64> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0:3 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %c, %iterArg_1 = %arg0) : tensor<6x4x4xf64>, tensor<i64>, tensor<2x4xf64>
    cond {
      %c_2 = stablehlo.constant dense<6> : tensor<i64>
      %1 = stablehlo.compare LT, %iterArg_0, %c_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_0) : (tensor<6x4x4xf64>, tensor<i64>) -> tensor<4x4xf64>
      %2 = func.call @closed_call(%iterArg_1, %1) : (tensor<2x4xf64>, tensor<4x4xf64>) -> tensor<2x4xf64>
      %c_2 = stablehlo.constant dense<1> : tensor<i64>
      %3 = stablehlo.add %iterArg_0, %c_2 : tensor<i64>
      stablehlo.return %iterArg, %3, %2 : tensor<6x4x4xf64>, tensor<i64>, tensor<2x4xf64>
    }
    return %0#2 : tensor<2x4xf64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<6x4x4xf64>, %arg1: tensor<i64>) -> tensor<4x4xf64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 4, 4] : (tensor<6x4x4xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x4x4xf64>
    %1 = stablehlo.reshape %0 : (tensor<1x4x4xf64>) -> tensor<4x4xf64>
    return %1 : tensor<4x4xf64>
  }
  func.func private @closed_call(%arg0: tensor<2x4xf64>, %arg1: tensor<4x4xf64>) -> tensor<2x4xf64> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf64>, tensor<4x4xf64>) -> tensor<2x4xf64>
    %1 = stablehlo.tanh %0 : tensor<2x4xf64>
    return %1 : tensor<2x4xf64>
  }
}
