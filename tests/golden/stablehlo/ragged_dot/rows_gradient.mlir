module @jit_rows_gradient attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7x3xf32>, %arg1: tensor<3x3x4xf32>, %arg2: tensor<3xi32>) -> (tensor<7x3xf32> {jax.result_info = "result[0]"}, tensor<3x3x4xf32> {jax.result_info = "result[1]"}) {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<7x3xf32>, tensor<3x3x4xf32>, tensor<3xi32>) -> tensor<7x4xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<7x4xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<7x4xf32>
    %3 = stablehlo.multiply %2, %0 : tensor<7x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%1 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<7x4xf32>, tensor<f32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<7x4xf32>
    %6 = stablehlo.multiply %5, %3 : tensor<7x4xf32>
    %7 = "chlo.ragged_dot"(%arg0, %6, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>}> : (tensor<7x3xf32>, tensor<7x4xf32>, tensor<3xi32>) -> tensor<3x3x4xf32>
    %8 = "chlo.ragged_dot"(%6, %arg1, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<7x4xf32>, tensor<3x3x4xf32>, tensor<3xi32>) -> tensor<7x3xf32>
    return %8, %7 : tensor<7x3xf32>, tensor<3x3x4xf32>
  }
}
