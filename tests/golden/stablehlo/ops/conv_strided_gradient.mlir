module @jit_conv_strided_gradient attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x5x2xf32>, %arg1: tensor<3x2x2x4xf32>) -> (tensor<2x6x5x2xf32> {jax.result_info = "result[0]"}, tensor<3x2x2x4xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 0], [-1, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x6x5x2xf32>, tensor<3x2x2x4xf32>) -> tensor<2x3x5x4xf32>
    %1 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 0], [-1, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x6x5x2xf32>, tensor<3x2x2x4xf32>) -> tensor<2x3x5x4xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2x3x5x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<2x3x5x4xf32>, tensor<f32>) -> tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x5x4xf32>
    %5 = stablehlo.multiply %0, %4 : tensor<2x3x5x4xf32>
    %6 = stablehlo.multiply %4, %1 : tensor<2x3x5x4xf32>
    %7 = stablehlo.convolution(%arg0, %5) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 0], [-1, 2]], lhs_dilate = [1, 1], rhs_dilate = [2, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x6x5x2xf32>, tensor<2x3x5x4xf32>) -> tensor<3x2x2x4xf32>
    %8 = stablehlo.reverse %arg1, dims = [0, 1] : tensor<3x2x2x4xf32>
    %9 = stablehlo.convolution(%5, %8) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 2], [2, -1]], lhs_dilate = [2, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x3x5x4xf32>, tensor<3x2x2x4xf32>) -> tensor<2x6x5x2xf32>
    %10 = stablehlo.convolution(%arg0, %6) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 0], [-1, 2]], lhs_dilate = [1, 1], rhs_dilate = [2, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x6x5x2xf32>, tensor<2x3x5x4xf32>) -> tensor<3x2x2x4xf32>
    %11 = stablehlo.add %7, %10 : tensor<3x2x2x4xf32>
    %12 = stablehlo.reverse %arg1, dims = [0, 1] : tensor<3x2x2x4xf32>
    %13 = stablehlo.convolution(%6, %12) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 2], [2, -1]], lhs_dilate = [2, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x3x5x4xf32>, tensor<3x2x2x4xf32>) -> tensor<2x6x5x2xf32>
    %14 = stablehlo.add %9, %13 : tensor<2x6x5x2xf32>
    return %14, %11 : tensor<2x6x5x2xf32>, tensor<3x2x2x4xf32>
  }
}
