module @jit_flash_attention attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf64>, %arg1: tensor<6x3xf64>, %arg2: tensor<6x3xf64>) -> (tensor<4x3xf64> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<-1.000000e+30> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %3:8 = stablehlo.while(%iterArg = %arg1, %iterArg_3 = %arg2, %iterArg_4 = %arg0, %iterArg_5 = %c_2, %iterArg_6 = %c, %iterArg_7 = %0, %iterArg_8 = %1, %iterArg_9 = %2) : tensor<6x3xf64>, tensor<6x3xf64>, tensor<4x3xf64>, tensor<i64>, tensor<i64>, tensor<4xf64>, tensor<4xf64>, tensor<4x3xf64>
    cond {
      %c_10 = stablehlo.constant dense<3> : tensor<i64>
      %7 = stablehlo.compare LT, %iterArg_5, %c_10, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7:4 = func.call @closed_call(%iterArg, %iterArg_3, %iterArg_4, %iterArg_6, %iterArg_7, %iterArg_8, %iterArg_9) : (tensor<6x3xf64>, tensor<6x3xf64>, tensor<4x3xf64>, tensor<i64>, tensor<4xf64>, tensor<4xf64>, tensor<4x3xf64>) -> (tensor<i64>, tensor<4xf64>, tensor<4xf64>, tensor<4x3xf64>)
      %c_10 = stablehlo.constant dense<1> : tensor<i64>
      %8 = stablehlo.add %iterArg_5, %c_10 : tensor<i64>
      stablehlo.return %iterArg, %iterArg_3, %iterArg_4, %8, %7#0, %7#1, %7#2, %7#3 : tensor<6x3xf64>, tensor<6x3xf64>, tensor<4x3xf64>, tensor<i64>, tensor<i64>, tensor<4xf64>, tensor<4xf64>, tensor<4x3xf64>
    }
    %4 = stablehlo.broadcast_in_dim %3#6, dims = [0] : (tensor<4xf64>) -> tensor<4x1xf64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4x1xf64>) -> tensor<4x3xf64>
    %6 = stablehlo.divide %3#7, %5 : tensor<4x3xf64>
    return %6 : tensor<4x3xf64>
  }
  func.func private @closed_call(%arg0: tensor<6x3xf64>, %arg1: tensor<6x3xf64>, %arg2: tensor<4x3xf64>, %arg3: tensor<i64>, %arg4: tensor<4xf64>, %arg5: tensor<4xf64>, %arg6: tensor<4x3xf64>) -> (tensor<i64>, tensor<4xf64>, tensor<4xf64>, tensor<4x3xf64>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.add %arg3, %c : tensor<i64>
    %c_0 = stablehlo.constant dense<2> : tensor<i64>
    %1 = stablehlo.multiply %arg3, %c_0 : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %2 = stablehlo.compare LT, %1, %c_1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %3 = stablehlo.convert %1 : tensor<i64>
    %c_2 = stablehlo.constant dense<6> : tensor<i64>
    %4 = stablehlo.add %3, %c_2 : tensor<i64>
    %5 = stablehlo.select %2, %4, %1 : tensor<i1>, tensor<i64>
    %c_3 = stablehlo.constant dense<0> : tensor<i64>
    %6 = stablehlo.dynamic_slice %arg0, %5, %c_3, sizes = [2, 3] : (tensor<6x3xf64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf64>
    %c_4 = stablehlo.constant dense<2> : tensor<i64>
    %7 = stablehlo.multiply %arg3, %c_4 : tensor<i64>
    %c_5 = stablehlo.constant dense<0> : tensor<i64>
    %8 = stablehlo.compare LT, %7, %c_5, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %9 = stablehlo.convert %7 : tensor<i64>
    %c_6 = stablehlo.constant dense<6> : tensor<i64>
    %10 = stablehlo.add %9, %c_6 : tensor<i64>
    %11 = stablehlo.select %8, %10, %7 : tensor<i1>, tensor<i64>
    %c_7 = stablehlo.constant dense<0> : tensor<i64>
    %12 = stablehlo.dynamic_slice %arg1, %11, %c_7, sizes = [2, 3] : (tensor<6x3xf64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf64>
    %13 = stablehlo.transpose %6, dims = [1, 0] : (tensor<2x3xf64>) -> tensor<3x2xf64>
    %14 = stablehlo.dot_general %arg2, %13, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x3xf64>, tensor<3x2xf64>) -> tensor<4x2xf64>
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %15 = stablehlo.reduce(%14 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x2xf64>, tensor<f64>) -> tensor<4xf64>
    %16 = stablehlo.convert %arg4 : tensor<4xf64>
    %17 = stablehlo.maximum %16, %15 : tensor<4xf64>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0] : (tensor<4xf64>) -> tensor<4x1xf64>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<4x1xf64>) -> tensor<4x2xf64>
    %20 = stablehlo.subtract %14, %19 : tensor<4x2xf64>
    %21 = stablehlo.exponential %20 : tensor<4x2xf64>
    %22 = stablehlo.convert %arg4 : tensor<4xf64>
    %23 = stablehlo.subtract %22, %17 : tensor<4xf64>
    %24 = stablehlo.exponential %23 : tensor<4xf64>
    %25 = stablehlo.multiply %arg5, %24 : tensor<4xf64>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %26 = stablehlo.reduce(%21 init: %cst_8) applies stablehlo.add across dimensions = [1] : (tensor<4x2xf64>, tensor<f64>) -> tensor<4xf64>
    %27 = stablehlo.add %25, %26 : tensor<4xf64>
    %28 = stablehlo.broadcast_in_dim %24, dims = [0] : (tensor<4xf64>) -> tensor<4x1xf64>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1] : (tensor<4x1xf64>) -> tensor<4x3xf64>
    %30 = stablehlo.multiply %arg6, %29 : tensor<4x3xf64>
    %31 = stablehlo.dot_general %21, %12, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x2xf64>, tensor<2x3xf64>) -> tensor<4x3xf64>
    %32 = stablehlo.add %30, %31 : tensor<4x3xf64>
    return %0, %17, %27, %32 : tensor<i64>, tensor<4xf64>, tensor<4xf64>, tensor<4x3xf64>
  }
}
