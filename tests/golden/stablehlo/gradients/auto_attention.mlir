module @jit_auto_attention attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=4]> {stablehlo.mesh = {axes = [{name = "a", size = 2 : i64}, {name = "b", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4x2x3xf64>, %arg1: tensor<4x2x3xf64>, %arg2: tensor<4x2x3xf64>) -> (tensor<4x2x3xf64> {jax.result_info = "result"}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"a"}, {}]> : tensor<4x2x3xf64>
    %1 = stablehlo.dot_general %0, %arg1, batching_dims = [1] x [1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x2x3xf64>, tensor<4x2x3xf64>) -> tensor<2x4x4xf64>
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x4xf64>, tensor<f64>) -> tensor<2x4xf64>
    %cst_0 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %4 = stablehlo.maximum %3, %2 : tensor<2x4xf64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x4xf64>) -> tensor<2x4x1xf64>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x4x1xf64>) -> tensor<2x4x4xf64>
    %7 = stablehlo.subtract %1, %6 : tensor<2x4x4xf64>
    %8 = stablehlo.exponential %7 : tensor<2x4x4xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %9 = stablehlo.reduce(%8 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<2x4x4xf64>, tensor<f64>) -> tensor<2x4xf64>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<2x4xf64>) -> tensor<2x4x1xf64>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x4x1xf64>) -> tensor<2x4x4xf64>
    %12 = stablehlo.divide %8, %11 : tensor<2x4x4xf64>
    %13 = stablehlo.dot_general %arg2, %12, batching_dims = [1] x [0], contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x2x3xf64>, tensor<2x4x4xf64>) -> tensor<2x3x4xf64>
    %14 = stablehlo.transpose %13, dims = [2, 0, 1] : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
    %15 = sdy.sharding_constraint %14 <@mesh, [{}, {"a"}, {}]> : tensor<4x2x3xf64>
    return %15 : tensor<4x2x3xf64>
  }
}
