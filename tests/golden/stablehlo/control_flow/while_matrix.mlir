module @jit_while_matrix attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x3xf32>) -> (tensor<2x3xf32> {jax.result_info = "result"}) {
    %0:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %arg0) : tensor<3x3xf32>, tensor<2x3xf32>
    cond {
      %1 = stablehlo.abs %iterArg_0 : tensor<2x3xf32>
      %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
      %cst_1 = stablehlo.constant dense<0.00999999977> : tensor<f32>
      %3 = stablehlo.compare GT, %2, %cst_1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %1 = stablehlo.dot_general %iterArg_0, %iterArg, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %2 = stablehlo.tanh %1 : tensor<2x3xf32>
      %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
      %4 = stablehlo.multiply %2, %3 : tensor<2x3xf32>
      stablehlo.return %iterArg, %4 : tensor<3x3xf32>, tensor<2x3xf32>
    }
    return %0#1 : tensor<2x3xf32>
  }
}
