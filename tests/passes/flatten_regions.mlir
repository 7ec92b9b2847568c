// The body of the manual computation becomes a part of the function, between two border ops.
// OPTIONS --devices cpu:4 --passes flatten_regions
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%y: tensor<2xf32>) {
      %1 = stablehlo.negate %y : tensor<2xf32>
      sdy.return %1 : tensor<2xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
// PRINTS
module @main attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>) {
    %0 = stablehlo.custom_call @tessera.full_to_shard(%arg0) {api_version = 4 : i32, backend_config = {mesh = @mesh, spec = #sdy.sharding<@mesh, [{"x"}]>, manual_axes = ["x"]}} : (tensor<8xf32>) -> tensor<2xf32>
    %1 = stablehlo.negate %0 : tensor<2xf32>
    %2 = stablehlo.custom_call @tessera.shard_to_full(%1) {api_version = 4 : i32, backend_config = {mesh = @mesh, spec = #sdy.sharding<@mesh, [{"x"}]>, manual_axes = ["x"]}} : (tensor<2xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
