// Back again: a while loop, as any reader of StableHLO understands it.
// OPTIONS --passes lower_scans
func.func public @main(%c: tensor<f32>, %xs: tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) {
  %r:2 = "tessera.scan"(%c, %xs) <{length = 5 : i64, num_consts = 0 : i64, num_carry = 1 : i64, reverse = false}> ({
  ^bb0(%h: tensor<f32>, %x: tensor<f32>):
    %n = stablehlo.add %h, %x : tensor<f32>
    stablehlo.return %n, %h : tensor<f32>, tensor<f32>
  }) : (tensor<f32>, tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>)
  return %r#0, %r#1 : tensor<f32>, tensor<5xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<0.000000e+00> : tensor<5xf32>
    %2:4 = stablehlo.while(%arg2 = %0, %arg3 = %arg0, %arg4 = %arg1, %arg5 = %1) : tensor<i32>, tensor<f32>, tensor<5xf32>, tensor<5xf32> cond {
      %3 = stablehlo.constant dense<5> : tensor<i32>
      %4 = stablehlo.compare LT, %arg2, %3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %5 = stablehlo.dynamic_slice %arg4, %arg2, sizes = [1] : (tensor<5xf32>, tensor<i32>) -> tensor<1xf32>
      %6 = stablehlo.reshape %5 : (tensor<1xf32>) -> tensor<f32>
      %7 = stablehlo.add %arg3, %6 : tensor<f32>
      %8 = stablehlo.constant dense<1> : tensor<i32>
      %9 = stablehlo.add %arg2, %8 : tensor<i32>
      %10 = stablehlo.reshape %arg3 : (tensor<f32>) -> tensor<1xf32>
      %11 = stablehlo.dynamic_update_slice %arg5, %10, %arg2 : (tensor<5xf32>, tensor<1xf32>, tensor<i32>) -> tensor<5xf32>
      stablehlo.return %9, %7, %arg4, %11 : tensor<i32>, tensor<f32>, tensor<5xf32>, tensor<5xf32>
    }
    return %2#1, %2#3 : tensor<f32>, tensor<5xf32>
  }
}
