// Nobody reads %unread after the loop or in the rest of its body: the loop does not carry it. (%n, which the condition reads from outside,
// is carried: a loop reads nothing else.)
// OPTIONS --passes prune_control
func.func public @main(%n: tensor<i32>, %b: tensor<f32>, %c: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %x = %b, %k = %b, %unread = %c) : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %y = stablehlo.multiply %x, %k : tensor<f32>
    %z = stablehlo.negate %unread : tensor<f32>
    stablehlo.return %j, %y, %k, %z : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> (tensor<f32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1:4 = stablehlo.while(%arg3 = %0, %arg4 = %arg1, %arg5 = %arg1, %arg6 = %arg0) : tensor<i32>, tensor<f32>, tensor<f32>, tensor<i32> cond {
      %2 = stablehlo.compare LT, %arg3, %arg6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %3 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %arg3, %3 : tensor<i32>
      %5 = stablehlo.multiply %arg4, %arg5 : tensor<f32>
      stablehlo.return %4, %5, %arg5, %arg6 : tensor<i32>, tensor<f32>, tensor<f32>, tensor<i32>
    }
    return %1#1 : tensor<f32>
  }
}
