// The sum over the trips of the products of the scanned %x and the state %h is computed after the loop, from %xs and the stacked states.
// OPTIONS --passes multiply_after_loops
func.func public @main(%w: tensor<64x128xf32>, %h0: tensor<2x128xf32>, %xs: tensor<5x2x64xf32>) -> (tensor<64x128xf32>, tensor<2x128xf32>) {
  %r:2 = "tessera.scan"(%w, %h0, %xs) <{length = 5 : i64, num_consts = 0 : i64, num_carry = 2 : i64, reverse = true}> ({
  ^bb0(%sum: tensor<64x128xf32>, %h: tensor<2x128xf32>, %x: tensor<2x64xf32>):
    %g = stablehlo.tanh %h : tensor<2x128xf32>
    %d = stablehlo.dot_general %x, %h, contracting_dims = [0] x [0] : (tensor<2x64xf32>, tensor<2x128xf32>) -> tensor<64x128xf32>
    %next = stablehlo.subtract %sum, %d : tensor<64x128xf32>
    stablehlo.return %next, %g : tensor<64x128xf32>, tensor<2x128xf32>
  }) : (tensor<64x128xf32>, tensor<2x128xf32>, tensor<5x2x64xf32>) -> (tensor<64x128xf32>, tensor<2x128xf32>)
  return %r#0, %r#1 : tensor<64x128xf32>, tensor<2x128xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x128xf32>, %arg1: tensor<2x128xf32>, %arg2: tensor<5x2x64xf32>) -> (tensor<64x128xf32>, tensor<2x128xf32>) {
    %0:2 = stablehlo.custom_call @tessera.scan(%arg1) {api_version = 4 : i32, backend_config = {body = @body, length = 5 : i64, num_consts = 0 : i64, num_carry = 1 : i64, reverse = true}} : (tensor<2x128xf32>) -> (tensor<2x128xf32>, tensor<5x2x128xf32>)
    %1 = stablehlo.dot_general %arg2, %0#1, contracting_dims = [0, 1] x [0, 1] : (tensor<5x2x64xf32>, tensor<5x2x128xf32>) -> tensor<64x128xf32>
    %2 = stablehlo.subtract %arg0, %1 : tensor<64x128xf32>
    return %2, %0#0 : tensor<64x128xf32>, tensor<2x128xf32>
  }
  func.func private @body(%arg0: tensor<2x128xf32>) -> (tensor<2x128xf32>, tensor<2x128xf32>) {
    %0 = stablehlo.tanh %arg0 : tensor<2x128xf32>
    return %0, %arg0 : tensor<2x128xf32>, tensor<2x128xf32>
  }
}
