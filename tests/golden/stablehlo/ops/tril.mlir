module @jit_tril attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32>) -> (tensor<4x8xf32> {jax.result_info = "result"}) {
    %0 = call @tril(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func private @tril(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<4x8xi64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<4x8xi64>
    %2 = stablehlo.add %0, %1 : tensor<4x8xi64>
    %3 = stablehlo.iota dim = 1 : tensor<4x8xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x8xi64>, tensor<4x8xi64>) -> tensor<4x8xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<4x8xi1>, tensor<4x8xf32>
    return %6 : tensor<4x8xf32>
  }
}
