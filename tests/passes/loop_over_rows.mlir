// Each row of the result depends only on the same row of the argument, so the loop runs for two rows at a time, in 32 tiles. The
// trips of the new loop over the tiles carry nothing.
// OPTIONS --passes loop_over_rows
func.func public @main(%x: tensor<64x8192xf32>) -> tensor<64x8192xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<64x8192xf32>
  cond {
    %last = stablehlo.constant dense<100> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.sine %s : tensor<64x8192xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<64x8192xf32>
  }
  return %0#1 : tensor<64x8192xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x8192xf32>) -> (tensor<64x8192xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<64x8192xf32>) -> tensor<32x2x8192xf32>
    %1 = stablehlo.custom_call @tessera.scan(%0) {api_version = 4 : i32, backend_config = {body = @main_0, length = 32 : i64, num_consts = 0 : i64, num_carry = 0 : i64, reverse = false}} : (tensor<32x2x8192xf32>) -> tensor<32x2x8192xf32>
    %2 = stablehlo.reshape %1 : (tensor<32x2x8192xf32>) -> tensor<64x8192xf32>
    return %2 : tensor<64x8192xf32>
  }
  func.func private @main_0(%arg0: tensor<2x8192xf32>) -> (tensor<2x8192xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%arg1 = %0, %arg2 = %arg0) : tensor<i32>, tensor<2x8192xf32> cond {
      %2 = stablehlo.constant dense<100> : tensor<i32>
      %3 = stablehlo.compare LT, %arg1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %4 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.add %arg1, %4 : tensor<i32>
      %6 = stablehlo.sine %arg2 : tensor<2x8192xf32>
      stablehlo.return %5, %6 : tensor<i32>, tensor<2x8192xf32>
    }
    return %1#1 : tensor<2x8192xf32>
  }
}
