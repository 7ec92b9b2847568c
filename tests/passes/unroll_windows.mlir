// A pool of windows of two becomes the maximum of two slices, which fuses with the ops around it.
// OPTIONS --passes unroll_windows
func.func public @main(%x: tensor<8xf32>) -> tensor<4xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>) -> (tensor<4xf32>) {
    %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.slice %arg0 [0:7:2] : (tensor<8xf32>) -> tensor<4xf32>
    %3 = stablehlo.maximum %1, %2 : tensor<4xf32>
    %4 = stablehlo.slice %arg0 [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
    %5 = stablehlo.maximum %3, %4 : tensor<4xf32>
    return %5 : tensor<4xf32>
  }
}
