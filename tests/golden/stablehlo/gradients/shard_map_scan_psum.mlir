module @jit_shard_map_scan_psum attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
  sdy.mesh @mesh = <["x"=8]> {stablehlo.mesh = {axes = [{name = "x", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<f64> {sdy.sharding = #sdy.sharding<@empty_mesh, []>}, %arg1: tensor<5x8xf64>) -> (tensor<f64> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, []>, <@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, []>] manual_axes={"x"} (%arg2: tensor<f64>, %arg3: tensor<5x1xf64>) {
      %c = stablehlo.constant dense<0> : tensor<i64>
      %1:3 = stablehlo.while(%iterArg = %arg3, %iterArg_0 = %c, %iterArg_1 = %arg2) : tensor<5x1xf64>, tensor<i64>, tensor<f64>
      cond {
        %c_2 = stablehlo.constant dense<5> : tensor<i64>
        %2 = stablehlo.compare LT, %iterArg_0, %c_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %2 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_0) : (tensor<5x1xf64>, tensor<i64>) -> tensor<1xf64>
        %3 = func.call @closed_call(%iterArg_1, %2) : (tensor<f64>, tensor<1xf64>) -> tensor<f64>
        %c_2 = stablehlo.constant dense<1> : tensor<i64>
        %4 = stablehlo.add %iterArg_0, %c_2 : tensor<i64>
        stablehlo.return %iterArg, %4, %3 : tensor<5x1xf64>, tensor<i64>, tensor<f64>
      }
      sdy.return %1#2 : tensor<f64>
    } : (tensor<f64>, tensor<5x8xf64>) -> tensor<f64>
    return %0 : tensor<f64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<5x1xf64>, %arg1: tensor<i64>) -> tensor<1xf64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 1] : (tensor<5x1xf64>, tensor<i64>, tensor<i64>) -> tensor<1x1xf64>
    %1 = stablehlo.reshape %0 : (tensor<1x1xf64>) -> tensor<1xf64>
    return %1 : tensor<1xf64>
  }
  func.func private @closed_call(%arg0: tensor<f64>, %arg1: tensor<1xf64>) -> tensor<f64> {
    %0 = stablehlo.sine %arg1 : tensor<1xf64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<1xf64>, tensor<f64>) -> tensor<f64>
    %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %4 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %4 : tensor<f64>
    }) : (tensor<f64>) -> tensor<f64>
    %3 = stablehlo.add %arg0, %2 : tensor<f64>
    return %3 : tensor<f64>
  }
}
