module @jit_while_in_cond attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<2x3xf32>) -> (tensor<2x3xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<i1>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %2 = stablehlo.sine %arg1 : tensor<2x3xf32>
      stablehlo.return %2 : tensor<2x3xf32>
    }, {
      %2 = stablehlo.while(%iterArg = %arg1) : tensor<2x3xf32>
      cond {
        %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
        %3 = stablehlo.reduce(%iterArg init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
        %cst_0 = stablehlo.constant dense<5.000000e+01> : tensor<f32>
        %4 = stablehlo.compare LT, %3, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %4 : tensor<i1>
      } do {
        %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
        %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
        %4 = stablehlo.multiply %iterArg, %3 : tensor<2x3xf32>
        stablehlo.return %4 : tensor<2x3xf32>
      }
      stablehlo.return %2 : tensor<2x3xf32>
    }) : (tensor<i32>) -> tensor<2x3xf32>
    return %1 : tensor<2x3xf32>
  }
}
