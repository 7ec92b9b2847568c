module @jit_fori_loop_blocks attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<6x3xf64>) -> (tensor<3xf64> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0:4 = stablehlo.while(%iterArg = %arg1, %iterArg_1 = %c_0, %iterArg_2 = %c, %iterArg_3 = %arg0) : tensor<6x3xf64>, tensor<i64>, tensor<i64>, tensor<3xf64>
    cond {
      %c_4 = stablehlo.constant dense<3> : tensor<i64>
      %1 = stablehlo.compare LT, %iterArg_1, %c_4, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1:2 = func.call @closed_call(%iterArg, %iterArg_2, %iterArg_3) : (tensor<6x3xf64>, tensor<i64>, tensor<3xf64>) -> (tensor<i64>, tensor<3xf64>)
      %c_4 = stablehlo.constant dense<1> : tensor<i64>
      %2 = stablehlo.add %iterArg_1, %c_4 : tensor<i64>
      stablehlo.return %iterArg, %2, %1#0, %1#1 : tensor<6x3xf64>, tensor<i64>, tensor<i64>, tensor<3xf64>
    }
    return %0#3 : tensor<3xf64>
  }
  func.func private @closed_call(%arg0: tensor<6x3xf64>, %arg1: tensor<i64>, %arg2: tensor<3xf64>) -> (tensor<i64>, tensor<3xf64>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.add %arg1, %c : tensor<i64>
    %c_0 = stablehlo.constant dense<2> : tensor<i64>
    %1 = stablehlo.multiply %c_0, %arg1 : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %2 = stablehlo.compare LT, %1, %c_1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %3 = stablehlo.convert %1 : tensor<i64>
    %c_2 = stablehlo.constant dense<6> : tensor<i64>
    %4 = stablehlo.add %3, %c_2 : tensor<i64>
    %5 = stablehlo.select %2, %4, %1 : tensor<i1>, tensor<i64>
    %c_3 = stablehlo.constant dense<0> : tensor<i64>
    %6 = stablehlo.dynamic_slice %arg0, %5, %c_3, sizes = [2, 3] : (tensor<6x3xf64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf64>
    %7 = stablehlo.sine %6 : tensor<2x3xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %8 = stablehlo.reduce(%7 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf64>, tensor<f64>) -> tensor<3xf64>
    %9 = stablehlo.multiply %8, %arg2 : tensor<3xf64>
    %10 = stablehlo.add %arg2, %9 : tensor<3xf64>
    return %0, %10 : tensor<i64>, tensor<3xf64>
  }
}
