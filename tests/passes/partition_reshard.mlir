// The result is sharded by columns and the argument by rows: an all_to_all of shards, with nothing gathered.
// OPTIONS --devices cpu:4 --passes pin_shardings propagate partition
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.negate %x : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}
// PRINTS
module @main attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<2x8xf32> {tessera.varying = ["x"]}) -> (tensor<8x2xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<2x8xf32>
    %1 = "stablehlo.all_to_all"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> {tessera.mesh = @mesh, tessera.axes = ["x"]} : (tensor<2x8xf32>) -> tensor<8x2xf32>
    return %1 : tensor<8x2xf32>
  }
}
