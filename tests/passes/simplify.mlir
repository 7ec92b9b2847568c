// Adding a slice of zeros, as derivatives of slices do, updates a part of the array: no bits change, since %x + 0 elsewhere has no -0
// (exp is positive).
// OPTIONS --passes simplify
func.func public @main(%x: tensor<8xf32>, %y: tensor<2xf32>) -> tensor<8xf32> {
  %e = stablehlo.exponential %x : tensor<8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %y, %zero, low = [3], high = [3], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.add %e, %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<2xf32>) -> (tensor<8xf32>) {
    %0 = stablehlo.exponential %arg0 : tensor<8xf32>
    %1 = stablehlo.constant dense<3> : tensor<i64>
    %2 = stablehlo.dynamic_slice %0, %1, sizes = [2] : (tensor<8xf32>, tensor<i64>) -> tensor<2xf32>
    %3 = stablehlo.add %2, %arg1 : tensor<2xf32>
    %4 = stablehlo.dynamic_update_slice %0, %3, %1 : (tensor<8xf32>, tensor<2xf32>, tensor<i64>) -> tensor<8xf32>
    return %4 : tensor<8xf32>
  }
}
