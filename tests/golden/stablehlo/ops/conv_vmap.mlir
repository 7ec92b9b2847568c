module @jit_conv_vmap attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x1x4x4x2xf32>, %arg1: tensor<3x2x2x2x2xf32>) -> (tensor<3x1x4x4x2xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.transpose %arg0, dims = [1, 2, 3, 0, 4] : (tensor<3x1x4x4x2xf32>) -> tensor<1x4x4x3x2xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4x4x3x2xf32>) -> tensor<1x4x4x6xf32>
    %2 = stablehlo.transpose %arg1, dims = [1, 2, 3, 0, 4] : (tensor<3x2x2x2x2xf32>) -> tensor<2x2x2x3x2xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x2x2x3x2xf32>) -> tensor<2x2x2x6xf32>
    %4 = stablehlo.convolution(%1, %3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x4x4x6xf32>, tensor<2x2x2x6xf32>) -> tensor<1x4x4x6xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x4x4x6xf32>) -> tensor<1x4x4x3x2xf32>
    %6 = stablehlo.transpose %5, dims = [3, 0, 1, 2, 4] : (tensor<1x4x4x3x2xf32>) -> tensor<3x1x4x4x2xf32>
    return %6 : tensor<3x1x4x4x2xf32>
  }
}
