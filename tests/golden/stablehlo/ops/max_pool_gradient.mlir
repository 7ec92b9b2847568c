module @jit_max_pool_gradient attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x5x3xf32>) -> (tensor<2x6x5x3xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %15 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %15 : tensor<f32>
    }) : (tensor<2x6x5x3xf32>, tensor<f32>) -> tensor<2x3x5x3xf32>
    %2 = stablehlo.iota dim = 0 : tensor<3xf64>
    %3 = stablehlo.convert %1 : (tensor<2x3x5x3xf32>) -> tensor<2x3x5x3xf64>
    %4 = stablehlo.broadcast_in_dim %2, dims = [3] : (tensor<3xf64>) -> tensor<1x1x1x3xf64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x1x1x3xf64>) -> tensor<2x3x5x3xf64>
    %6 = stablehlo.multiply %3, %5 : tensor<2x3x5x3xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<2x3x5x3xf64>, tensor<f64>) -> tensor<f64>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x3x5x3xf64>
    %9 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x1x1x3xf64>) -> tensor<2x3x5x3xf64>
    %10 = stablehlo.multiply %8, %9 : tensor<2x3x5x3xf64>
    %11 = stablehlo.convert %10 : (tensor<2x3x5x3xf64>) -> tensor<2x3x5x3xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.pad %arg0, %cst_2, low = [0, 0, 1, 0], high = [0, 0, 1, 0], interior = [0, 0, 0, 0] : (tensor<2x6x5x3xf32>, tensor<f32>) -> tensor<2x6x7x3xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = "stablehlo.select_and_scatter"(%12, %11, %cst_3) <{padding = dense<0> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %15 = stablehlo.compare GE, %arg1, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %15 : tensor<i1>
    }, {
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %15 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %15 : tensor<f32>
    }) : (tensor<2x6x7x3xf32>, tensor<2x3x5x3xf32>, tensor<f32>) -> tensor<2x6x7x3xf32>
    %14 = stablehlo.slice %13 [0:2, 0:6, 1:6, 0:3] : (tensor<2x6x7x3xf32>) -> tensor<2x6x5x3xf32>
    return %14 : tensor<2x6x5x3xf32>
  }
}
