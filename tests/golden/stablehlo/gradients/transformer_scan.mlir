module @jit_transformer_scan attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x8xf64>, %arg1: tensor<3x8xf64>, %arg2: tensor<3x8xf64>, %arg3: tensor<3x8xf64>, %arg4: tensor<3x8x8xf64>, %arg5: tensor<3x8x8xf64>, %arg6: tensor<3x8x8xf64>, %arg7: tensor<3x8x8xf64>, %arg8: tensor<3x8x16xf64>, %arg9: tensor<3x16x8xf64>, %arg10: tensor<5x8xf64>) -> (tensor<5x8xf64> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0:12 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1, %iterArg_1 = %arg2, %iterArg_2 = %arg3, %iterArg_3 = %arg4, %iterArg_4 = %arg5, %iterArg_5 = %arg6, %iterArg_6 = %arg7, %iterArg_7 = %arg8, %iterArg_8 = %arg9, %iterArg_9 = %c, %iterArg_10 = %arg10) : tensor<3x8xf64>, tensor<3x8xf64>, tensor<3x8xf64>, tensor<3x8xf64>, tensor<3x8x8xf64>, tensor<3x8x8xf64>, tensor<3x8x8xf64>, tensor<3x8x8xf64>, tensor<3x8x16xf64>, tensor<3x16x8xf64>, tensor<i64>, tensor<5x8xf64>
    cond {
      %c_11 = stablehlo.constant dense<3> : tensor<i64>
      %1 = stablehlo.compare LT, %iterArg_9, %c_11, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_9) : (tensor<3x8xf64>, tensor<i64>) -> tensor<8xf64>
      %2 = func.call @dynamic_index_in_dim(%iterArg_0, %iterArg_9) : (tensor<3x8xf64>, tensor<i64>) -> tensor<8xf64>
      %3 = func.call @dynamic_index_in_dim(%iterArg_1, %iterArg_9) : (tensor<3x8xf64>, tensor<i64>) -> tensor<8xf64>
      %4 = func.call @dynamic_index_in_dim(%iterArg_2, %iterArg_9) : (tensor<3x8xf64>, tensor<i64>) -> tensor<8xf64>
      %5 = func.call @dynamic_index_in_dim_0(%iterArg_3, %iterArg_9) : (tensor<3x8x8xf64>, tensor<i64>) -> tensor<8x8xf64>
      %6 = func.call @dynamic_index_in_dim_0(%iterArg_4, %iterArg_9) : (tensor<3x8x8xf64>, tensor<i64>) -> tensor<8x8xf64>
      %7 = func.call @dynamic_index_in_dim_0(%iterArg_5, %iterArg_9) : (tensor<3x8x8xf64>, tensor<i64>) -> tensor<8x8xf64>
      %8 = func.call @dynamic_index_in_dim_0(%iterArg_6, %iterArg_9) : (tensor<3x8x8xf64>, tensor<i64>) -> tensor<8x8xf64>
      %9 = func.call @dynamic_index_in_dim_1(%iterArg_7, %iterArg_9) : (tensor<3x8x16xf64>, tensor<i64>) -> tensor<8x16xf64>
      %10 = func.call @dynamic_index_in_dim_2(%iterArg_8, %iterArg_9) : (tensor<3x16x8xf64>, tensor<i64>) -> tensor<16x8xf64>
      %11 = func.call @closed_call(%iterArg_10, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10) : (tensor<5x8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8x8xf64>, tensor<8x8xf64>, tensor<8x8xf64>, tensor<8x8xf64>, tensor<8x16xf64>, tensor<16x8xf64>) -> tensor<5x8xf64>
      %c_11 = stablehlo.constant dense<1> : tensor<i64>
      %12 = stablehlo.add %iterArg_9, %c_11 : tensor<i64>
      stablehlo.return %iterArg, %iterArg_0, %iterArg_1, %iterArg_2, %iterArg_3, %iterArg_4, %iterArg_5, %iterArg_6, %iterArg_7, %iterArg_8, %12, %11 : tensor<3x8xf64>, tensor<3x8xf64>, tensor<3x8xf64>, tensor<3x8xf64>, tensor<3x8x8xf64>, tensor<3x8x8xf64>, tensor<3x8x8xf64>, tensor<3x8x8xf64>, tensor<3x8x16xf64>, tensor<3x16x8xf64>, tensor<i64>, tensor<5x8xf64>
    }
    return %0#11 : tensor<5x8xf64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<3x8xf64>, %arg1: tensor<i64>) -> tensor<8xf64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 8] : (tensor<3x8xf64>, tensor<i64>, tensor<i64>) -> tensor<1x8xf64>
    %1 = stablehlo.reshape %0 : (tensor<1x8xf64>) -> tensor<8xf64>
    return %1 : tensor<8xf64>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<3x8x8xf64>, %arg1: tensor<i64>) -> tensor<8x8xf64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 8, 8] : (tensor<3x8x8xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x8x8xf64>
    %1 = stablehlo.reshape %0 : (tensor<1x8x8xf64>) -> tensor<8x8xf64>
    return %1 : tensor<8x8xf64>
  }
  func.func private @dynamic_index_in_dim_1(%arg0: tensor<3x8x16xf64>, %arg1: tensor<i64>) -> tensor<8x16xf64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 8, 16] : (tensor<3x8x16xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x8x16xf64>
    %1 = stablehlo.reshape %0 : (tensor<1x8x16xf64>) -> tensor<8x16xf64>
    return %1 : tensor<8x16xf64>
  }
  func.func private @dynamic_index_in_dim_2(%arg0: tensor<3x16x8xf64>, %arg1: tensor<i64>) -> tensor<16x8xf64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 16, 8] : (tensor<3x16x8xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x16x8xf64>
    %1 = stablehlo.reshape %0 : (tensor<1x16x8xf64>) -> tensor<16x8xf64>
    return %1 : tensor<16x8xf64>
  }
  func.func private @closed_call(%arg0: tensor<5x8xf64>, %arg1: tensor<8xf64>, %arg2: tensor<8xf64>, %arg3: tensor<8xf64>, %arg4: tensor<8xf64>, %arg5: tensor<8x8xf64>, %arg6: tensor<8x8xf64>, %arg7: tensor<8x8xf64>, %arg8: tensor<8x8xf64>, %arg9: tensor<8x16xf64>, %arg10: tensor<16x8xf64>) -> tensor<5x8xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<5x8xf64>, tensor<f64>) -> tensor<5xf64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<5xf64>) -> tensor<5x1xf64>
    %cst_0 = stablehlo.constant dense<8.000000e+00> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<5x1xf64>
    %3 = stablehlo.divide %1, %2 : tensor<5x1xf64>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<5x1xf64>) -> tensor<5x8xf64>
    %5 = stablehlo.subtract %arg0, %4 : tensor<5x8xf64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %6 = call @_var(%arg0, %c) : (tensor<5x8xf64>, tensor<i64>) -> tensor<5x1xf64>
    %cst_1 = stablehlo.constant dense<1.000000e-05> : tensor<f64>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<5x1xf64>
    %8 = stablehlo.add %6, %7 : tensor<5x1xf64>
    %9 = stablehlo.rsqrt %8 : tensor<5x1xf64>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<5x1xf64>) -> tensor<5x8xf64>
    %11 = stablehlo.multiply %5, %10 : tensor<5x8xf64>
    %12 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<8xf64>) -> tensor<1x8xf64>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<1x8xf64>) -> tensor<5x8xf64>
    %14 = stablehlo.multiply %11, %13 : tensor<5x8xf64>
    %15 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<8xf64>) -> tensor<1x8xf64>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<1x8xf64>) -> tensor<5x8xf64>
    %17 = stablehlo.add %14, %16 : tensor<5x8xf64>
    %18 = stablehlo.dot_general %17, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x8xf64>, tensor<8x8xf64>) -> tensor<5x8xf64>
    %19 = stablehlo.reshape %18 : (tensor<5x8xf64>) -> tensor<5x2x4xf64>
    %20 = stablehlo.dot_general %17, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x8xf64>, tensor<8x8xf64>) -> tensor<5x8xf64>
    %21 = stablehlo.reshape %20 : (tensor<5x8xf64>) -> tensor<5x2x4xf64>
    %22 = stablehlo.dot_general %17, %arg8, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x8xf64>, tensor<8x8xf64>) -> tensor<5x8xf64>
    %23 = stablehlo.reshape %22 : (tensor<5x8xf64>) -> tensor<5x2x4xf64>
    %24 = stablehlo.dot_general %19, %21, batching_dims = [1] x [1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<5x2x4xf64>, tensor<5x2x4xf64>) -> tensor<2x5x5xf64>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %25 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<2x5x5xf64>
    %26 = stablehlo.divide %24, %25 : tensor<2x5x5xf64>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %27 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i1>) -> tensor<5x5xi1>
    %28 = call @tril(%27) : (tensor<5x5xi1>) -> tensor<5x5xi1>
    %cst_4 = stablehlo.constant dense<-1.000000e+09> : tensor<f64>
    %29 = call @_where_3(%28, %26, %cst_4) : (tensor<5x5xi1>, tensor<2x5x5xf64>, tensor<f64>) -> tensor<2x5x5xf64>
    %cst_5 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %30 = stablehlo.reduce(%29 init: %cst_5) applies stablehlo.maximum across dimensions = [2] : (tensor<2x5x5xf64>, tensor<f64>) -> tensor<2x5xf64>
    %cst_6 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %31 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f64>) -> tensor<2x5xf64>
    %32 = stablehlo.maximum %31, %30 : tensor<2x5xf64>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<2x5xf64>) -> tensor<2x5x1xf64>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<2x5x1xf64>) -> tensor<2x5x5xf64>
    %35 = stablehlo.subtract %29, %34 : tensor<2x5x5xf64>
    %36 = stablehlo.exponential %35 : tensor<2x5x5xf64>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %37 = stablehlo.reduce(%36 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<2x5x5xf64>, tensor<f64>) -> tensor<2x5xf64>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1] : (tensor<2x5xf64>) -> tensor<2x5x1xf64>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1, 2] : (tensor<2x5x1xf64>) -> tensor<2x5x5xf64>
    %40 = stablehlo.divide %36, %39 : tensor<2x5x5xf64>
    %41 = stablehlo.dot_general %23, %40, batching_dims = [1] x [0], contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<5x2x4xf64>, tensor<2x5x5xf64>) -> tensor<2x4x5xf64>
    %42 = stablehlo.transpose %41, dims = [2, 0, 1] : (tensor<2x4x5xf64>) -> tensor<5x2x4xf64>
    %43 = stablehlo.reshape %42 : (tensor<5x2x4xf64>) -> tensor<5x8xf64>
    %44 = stablehlo.dot_general %43, %arg6, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x8xf64>, tensor<8x8xf64>) -> tensor<5x8xf64>
    %45 = stablehlo.add %arg0, %44 : tensor<5x8xf64>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %46 = stablehlo.reduce(%45 init: %cst_8) applies stablehlo.add across dimensions = [1] : (tensor<5x8xf64>, tensor<f64>) -> tensor<5xf64>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0] : (tensor<5xf64>) -> tensor<5x1xf64>
    %cst_9 = stablehlo.constant dense<8.000000e+00> : tensor<f64>
    %48 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<5x1xf64>
    %49 = stablehlo.divide %47, %48 : tensor<5x1xf64>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1] : (tensor<5x1xf64>) -> tensor<5x8xf64>
    %51 = stablehlo.subtract %45, %50 : tensor<5x8xf64>
    %c_10 = stablehlo.constant dense<0> : tensor<i64>
    %52 = call @_var(%45, %c_10) : (tensor<5x8xf64>, tensor<i64>) -> tensor<5x1xf64>
    %cst_11 = stablehlo.constant dense<1.000000e-05> : tensor<f64>
    %53 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<5x1xf64>
    %54 = stablehlo.add %52, %53 : tensor<5x1xf64>
    %55 = stablehlo.rsqrt %54 : tensor<5x1xf64>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1] : (tensor<5x1xf64>) -> tensor<5x8xf64>
    %57 = stablehlo.multiply %51, %56 : tensor<5x8xf64>
    %58 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<8xf64>) -> tensor<1x8xf64>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1] : (tensor<1x8xf64>) -> tensor<5x8xf64>
    %60 = stablehlo.multiply %57, %59 : tensor<5x8xf64>
    %61 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<8xf64>) -> tensor<1x8xf64>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1] : (tensor<1x8xf64>) -> tensor<5x8xf64>
    %63 = stablehlo.add %60, %62 : tensor<5x8xf64>
    %64 = stablehlo.dot_general %63, %arg9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x8xf64>, tensor<8x16xf64>) -> tensor<5x16xf64>
    %65 = stablehlo.multiply %64, %64 : tensor<5x16xf64>
    %66 = stablehlo.multiply %65, %64 : tensor<5x16xf64>
    %cst_12 = stablehlo.constant dense<4.471500e-02> : tensor<f64>
    %67 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f64>) -> tensor<5x16xf64>
    %68 = stablehlo.multiply %67, %66 : tensor<5x16xf64>
    %69 = stablehlo.add %64, %68 : tensor<5x16xf64>
    %cst_13 = stablehlo.constant dense<0.79788456080286541> : tensor<f64>
    %70 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f64>) -> tensor<5x16xf64>
    %71 = stablehlo.multiply %70, %69 : tensor<5x16xf64>
    %72 = stablehlo.tanh %71 : tensor<5x16xf64>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %73 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<5x16xf64>
    %74 = stablehlo.add %73, %72 : tensor<5x16xf64>
    %cst_15 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %75 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f64>) -> tensor<5x16xf64>
    %76 = stablehlo.multiply %75, %74 : tensor<5x16xf64>
    %77 = stablehlo.multiply %64, %76 : tensor<5x16xf64>
    %78 = stablehlo.dot_general %77, %arg10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x16xf64>, tensor<16x8xf64>) -> tensor<5x8xf64>
    %79 = stablehlo.add %45, %78 : tensor<5x8xf64>
    return %79 : tensor<5x8xf64>
  }
  func.func private @_var(%arg0: tensor<5x8xf64>, %arg1: tensor<i64>) -> tensor<5x1xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<5x8xf64>, tensor<f64>) -> tensor<5xf64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<5xf64>) -> tensor<5x1xf64>
    %cst_0 = stablehlo.constant dense<8.000000e+00> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<5x1xf64>
    %3 = stablehlo.divide %1, %2 : tensor<5x1xf64>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<5x1xf64>) -> tensor<5x8xf64>
    %5 = stablehlo.subtract %arg0, %4 : tensor<5x8xf64>
    %6 = chlo.square %5 : tensor<5x8xf64> -> tensor<5x8xf64>
    %7 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<f64>
    %cst_1 = stablehlo.constant dense<8.000000e+00> : tensor<f64>
    %8 = stablehlo.subtract %cst_1, %7 : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [1] : (tensor<5x8xf64>, tensor<f64>) -> tensor<5xf64>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<5xf64>) -> tensor<5x1xf64>
    %11 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f64>) -> tensor<5x1xf64>
    %12 = stablehlo.divide %10, %11 : tensor<5x1xf64>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %13 = stablehlo.compare GT, %8, %cst_3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %cst_4 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %14 = call @_where(%13, %12, %cst_4) : (tensor<i1>, tensor<5x1xf64>, tensor<f64>) -> tensor<5x1xf64>
    return %14 : tensor<5x1xf64>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<5x1xf64>, %arg2: tensor<f64>) -> tensor<5x1xf64> {
    %0 = stablehlo.convert %arg2 : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<5x1xf64>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<5x1xf64>
    return %2 : tensor<5x1xf64>
  }
  func.func private @tril(%arg0: tensor<5x5xi1>) -> tensor<5x5xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<5x5xi64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<5x5xi64>
    %2 = stablehlo.add %0, %1 : tensor<5x5xi64>
    %3 = stablehlo.iota dim = 1 : tensor<5x5xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<5x5xi64>, tensor<5x5xi64>) -> tensor<5x5xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<5x5xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<5x5xi1>, tensor<5x5xi1>
    return %6 : tensor<5x5xi1>
  }
  func.func private @_where_3(%arg0: tensor<5x5xi1>, %arg1: tensor<2x5x5xf64>, %arg2: tensor<f64>) -> tensor<2x5x5xf64> {
    %0 = stablehlo.convert %arg2 : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<5x5xi1>) -> tensor<2x5x5xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<2x5x5xf64>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x5x5xi1>, tensor<2x5x5xf64>
    return %3 : tensor<2x5x5xf64>
  }
}
