module @jit_shard_map_ring_attention attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]> {stablehlo.mesh = {axes = [{name = "x", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<16x4xf64>, %arg1: tensor<16x4xf64>, %arg2: tensor<16x4xf64>) -> (tensor<16x4xf64> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0, %arg1, %arg2) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg3: tensor<2x4xf64>, %arg4: tensor<2x4xf64>, %arg5: tensor<2x4xf64>) {
      %1 = stablehlo.slice %arg3 [0:2, 0:1] : (tensor<2x4xf64>) -> tensor<2x1xf64>
      %2 = stablehlo.reshape %1 : (tensor<2x1xf64>) -> tensor<2xf64>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2xf64>
      %4 = stablehlo.multiply %2, %3 : tensor<2xf64>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
      %6 = stablehlo.multiply %arg3, %5 : tensor<2x4xf64>
      %c = stablehlo.constant dense<0> : tensor<i64>
      %7:6 = stablehlo.while(%iterArg = %arg3, %iterArg_1 = %c, %iterArg_2 = %4, %iterArg_3 = %6, %iterArg_4 = %arg4, %iterArg_5 = %arg5) : tensor<2x4xf64>, tensor<i64>, tensor<2xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>
      cond {
        %c_6 = stablehlo.constant dense<8> : tensor<i64>
        %11 = stablehlo.compare LT, %iterArg_1, %c_6, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %11 : tensor<i1>
      } do {
        %11:4 = func.call @closed_call(%iterArg, %iterArg_2, %iterArg_3, %iterArg_4, %iterArg_5) : (tensor<2x4xf64>, tensor<2xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>) -> (tensor<2xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>)
        %c_6 = stablehlo.constant dense<1> : tensor<i64>
        %12 = stablehlo.add %iterArg_1, %c_6 : tensor<i64>
        stablehlo.return %iterArg, %12, %11#0, %11#1, %11#2, %11#3 : tensor<2x4xf64>, tensor<i64>, tensor<2xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>
      }
      %8 = stablehlo.broadcast_in_dim %7#2, dims = [0] : (tensor<2xf64>) -> tensor<2x1xf64>
      %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<2x1xf64>) -> tensor<2x4xf64>
      %10 = stablehlo.divide %7#3, %9 : tensor<2x4xf64>
      sdy.return %10 : tensor<2x4xf64>
    } : (tensor<16x4xf64>, tensor<16x4xf64>, tensor<16x4xf64>) -> tensor<16x4xf64>
    return %0 : tensor<16x4xf64>
  }
  func.func private @closed_call(%arg0: tensor<2x4xf64>, %arg1: tensor<2xf64>, %arg2: tensor<2x4xf64>, %arg3: tensor<2x4xf64>, %arg4: tensor<2x4xf64>) -> (tensor<2xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>) {
    %0 = stablehlo.transpose %arg3, dims = [1, 0] : (tensor<2x4xf64>) -> tensor<4x2xf64>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf64>, tensor<4x2xf64>) -> tensor<2x2xf64>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %3 = stablehlo.divide %1, %2 : tensor<2x2xf64>
    %4 = stablehlo.exponential %3 : tensor<2x2xf64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf64>, tensor<f64>) -> tensor<2xf64>
    %6 = stablehlo.add %arg1, %5 : tensor<2xf64>
    %7 = stablehlo.dot_general %4, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x2xf64>, tensor<2x4xf64>) -> tensor<2x4xf64>
    %8 = stablehlo.add %arg2, %7 : tensor<2x4xf64>
    %9 = "stablehlo.collective_permute"(%arg3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>}> : (tensor<2x4xf64>) -> tensor<2x4xf64>
    %10 = "stablehlo.collective_permute"(%arg4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>}> : (tensor<2x4xf64>) -> tensor<2x4xf64>
    return %6, %8, %9, %10 : tensor<2xf64>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<2x4xf64>
  }
}
