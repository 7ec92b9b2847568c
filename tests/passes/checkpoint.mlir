// A loop that counts its trips is a scan, and its body is marked: its gradient keeps the carries and computes the rest again.
// OPTIONS --passes checkpoint
func.func public @main(%x: tensor<f32>) -> (tensor<f32>, tensor<5xf32>) {
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %rows0 = stablehlo.constant dense<0.0> : tensor<5xf32>
  %r:3 = stablehlo.while(%i = %i0, %c = %x, %rows = %rows0) : tensor<i32>, tensor<f32>, tensor<5xf32>
  cond {
    %p = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.sine %c : tensor<f32>
    %row = stablehlo.reshape %n : (tensor<f32>) -> tensor<1xf32>
    %w = stablehlo.dynamic_update_slice %rows, %row, %i : (tensor<5xf32>, tensor<1xf32>, tensor<i32>) -> tensor<5xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %n, %w : tensor<i32>, tensor<f32>, tensor<5xf32>
  }
  return %r#1, %r#2 : tensor<f32>, tensor<5xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<f32>) -> (tensor<f32>, tensor<5xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1:3 = stablehlo.custom_call @tessera.scan(%0, %arg0) {api_version = 4 : i32, backend_config = {body = @body, length = 5 : i64, num_consts = 0 : i64, num_carry = 2 : i64, reverse = false}} : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>, tensor<5xf32>)
    return %1#1, %1#2 : tensor<f32>, tensor<5xf32>
  }
  func.func private @body(%arg0: tensor<i32>, %arg1: tensor<f32>) -> (tensor<i32>, tensor<f32>, tensor<f32>) {
    %0:3 = stablehlo.custom_call @tessera.checkpoint(%arg0, %arg1) {api_version = 4 : i32, backend_config = {primal = @body_0, saveable = "nothing", names = []}} : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>, tensor<f32>)
    return %0#0, %0#1, %0#2 : tensor<i32>, tensor<f32>, tensor<f32>
  }
  func.func private @body_0(%arg0: tensor<i32>, %arg1: tensor<f32>) -> (tensor<i32>, tensor<f32>, tensor<f32>) {
    %0 = stablehlo.sine %arg1 : tensor<f32>
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %arg0, %1 : tensor<i32>
    return %2, %0, %0 : tensor<i32>, tensor<f32>, tensor<f32>
  }
}
