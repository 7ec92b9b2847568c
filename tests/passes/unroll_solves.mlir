// Equations of two unknowns with a triangular matrix become elementwise ops, which fuse with the ops around them.
// OPTIONS --passes unroll_windows
func.func public @main(%a: tensor<2x2xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x2xf32>, %arg1: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.slice %arg1 [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %1 = stablehlo.slice %arg1 [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %2 = stablehlo.slice %arg0 [0:1, 0:1] : (tensor<2x2xf32>) -> tensor<1x1xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x3xf32>
    %4 = stablehlo.divide %1, %3 : tensor<1x3xf32>
    %5 = stablehlo.slice %arg1 [1:2, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %6 = stablehlo.slice %arg0 [1:2, 0:1] : (tensor<2x2xf32>) -> tensor<1x1xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x3xf32>
    %8 = stablehlo.multiply %7, %4 : tensor<1x3xf32>
    %9 = stablehlo.subtract %5, %8 : tensor<1x3xf32>
    %10 = stablehlo.slice %arg0 [1:2, 1:2] : (tensor<2x2xf32>) -> tensor<1x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x3xf32>
    %12 = stablehlo.divide %9, %11 : tensor<1x3xf32>
    %13 = stablehlo.concatenate %4, %12, dim = 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
    return %13 : tensor<2x3xf32>
  }
}
