module @jit_while_captures attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>, %arg2: tensor<3xf32>) -> (tensor<i32> {jax.result_info = "result[0]"}, tensor<2x3xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:4 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %arg2, %iterArg_1 = %c, %iterArg_2 = %arg0) : tensor<f32>, tensor<3xf32>, tensor<i32>, tensor<2x3xf32>
    cond {
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %1 = stablehlo.reduce(%iterArg_2 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
      %2 = stablehlo.compare LT, %1, %iterArg, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg_1, %c_3 : tensor<i32>
      %2 = stablehlo.broadcast_in_dim %iterArg_0, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3xf32>
      %4 = stablehlo.add %iterArg_2, %3 : tensor<2x3xf32>
      stablehlo.return %iterArg, %iterArg_0, %1, %4 : tensor<f32>, tensor<3xf32>, tensor<i32>, tensor<2x3xf32>
    }
    return %0#2, %0#3 : tensor<i32>, tensor<2x3xf32>
  }
}
