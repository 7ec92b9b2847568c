module @jit_shard_map_softmax attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]> {stablehlo.mesh = {axes = [{name = "x", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<3x16xf64>) -> (tensor<3x16xf64> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%arg1: tensor<3x2xf64>) {
      %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
      %1 = stablehlo.reduce(%arg1 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<3x2xf64>, tensor<f64>) -> tensor<3xf64>
      %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
      %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
        %12 = stablehlo.maximum %arg2, %arg3 : tensor<f64>
        stablehlo.return %12 : tensor<f64>
      }) : (tensor<3x1xf64>) -> tensor<3x1xf64>
      %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<3x1xf64>) -> tensor<3x2xf64>
      %5 = stablehlo.subtract %arg1, %4 : tensor<3x2xf64>
      %6 = stablehlo.exponential %5 : tensor<3x2xf64>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
      %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf64>, tensor<f64>) -> tensor<3xf64>
      %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<3xf64>) -> tensor<3x1xf64>
      %9 = "stablehlo.all_reduce"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
        %12 = stablehlo.add %arg2, %arg3 : tensor<f64>
        stablehlo.return %12 : tensor<f64>
      }) : (tensor<3x1xf64>) -> tensor<3x1xf64>
      %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<3x1xf64>) -> tensor<3x2xf64>
      %11 = stablehlo.divide %6, %10 : tensor<3x2xf64>
      sdy.return %11 : tensor<3x2xf64>
    } : (tensor<3x16xf64>) -> tensor<3x16xf64>
    return %0 : tensor<3x16xf64>
  }
}
