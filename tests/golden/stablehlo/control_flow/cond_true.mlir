module @jit_cond_true attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<2x3xf32>, %arg2: tensor<3x3xf32>) -> (tensor<2x3xf32> {jax.result_info = "result[0]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convert %arg0 : (tensor<i1>) -> tensor<i32>
    %1:2 = "stablehlo.case"(%0) ({
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
      %3 = stablehlo.subtract %arg1, %2 : tensor<2x3xf32>
      %4 = stablehlo.slice %arg2 [0:1, 0:1] : (tensor<3x3xf32>) -> tensor<1x1xf32>
      %5 = stablehlo.reshape %4 : (tensor<1x1xf32>) -> tensor<f32>
      stablehlo.return %3, %5 : tensor<2x3xf32>, tensor<f32>
    }, {
      %2 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %3 = stablehlo.reduce(%arg1 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
      stablehlo.return %2, %3 : tensor<2x3xf32>, tensor<f32>
    }) : (tensor<i32>) -> (tensor<2x3xf32>, tensor<f32>)
    return %1#0, %1#1 : tensor<2x3xf32>, tensor<f32>
  }
}
