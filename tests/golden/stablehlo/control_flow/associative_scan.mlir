module @jit_associative_scan attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x4xf32>) -> (tensor<5x4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [0:4:2, 0:4] : (tensor<5x4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.slice %arg0 [1:5:2, 0:4] : (tensor<5x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2x4xf32>
    %3 = stablehlo.slice %2 [0:1:2, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %4 = stablehlo.slice %2 [1:2:2, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %5 = stablehlo.multiply %3, %4 : tensor<1x4xf32>
    %6 = stablehlo.slice %5 [0:0, 0:4] : (tensor<1x4xf32>) -> tensor<0x4xf32>
    %7 = stablehlo.slice %2 [2:2:2, 0:4] : (tensor<2x4xf32>) -> tensor<0x4xf32>
    %8 = stablehlo.multiply %6, %7 : tensor<0x4xf32>
    %9 = stablehlo.slice %2 [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %10 = stablehlo.concatenate %9, %8, dim = 0 : (tensor<1x4xf32>, tensor<0x4xf32>) -> tensor<1x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.pad %10, %cst, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.pad %5, %cst_0, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %13 = stablehlo.add %11, %12 : tensor<2x4xf32>
    %14 = stablehlo.slice %arg0 [2:5:2, 0:4] : (tensor<5x4xf32>) -> tensor<2x4xf32>
    %15 = stablehlo.multiply %13, %14 : tensor<2x4xf32>
    %16 = stablehlo.slice %arg0 [0:1, 0:4] : (tensor<5x4xf32>) -> tensor<1x4xf32>
    %17 = stablehlo.concatenate %16, %15, dim = 0 : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.pad %17, %cst_1, low = [0, 0], high = [0, 0], interior = [1, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<5x4xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.pad %13, %cst_2, low = [1, 0], high = [1, 0], interior = [1, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<5x4xf32>
    %20 = stablehlo.add %18, %19 : tensor<5x4xf32>
    return %20 : tensor<5x4xf32>
  }
}
