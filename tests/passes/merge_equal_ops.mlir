// The two sines are equal, so one of them is left; the cosine, which nobody reads, goes in remove_dead_ops.
// OPTIONS --devices cpu:4 --passes merge_equal_ops remove_dead_ops
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
    %0 = stablehlo.sine %x : tensor<4xf32>
    %1 = stablehlo.sine %x : tensor<4xf32>
    %2 = stablehlo.cosine %x : tensor<4xf32>
    %3 = stablehlo.add %0, %1 : tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}
// PRINTS
module @main attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<4xf32>) {
    %0 = stablehlo.sine %arg0 : tensor<4xf32>
    %1 = stablehlo.add %0, %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
