// The constraint is on a mesh of one axis of 4, the argument on one of 2 x 2: both are written on one mesh.
// OPTIONS --devices cpu:4 --passes pin_shardings
module {
  sdy.mesh @square = <["a"=2, "b"=2]>
  sdy.mesh @line = <["x"=4]>
  func.func public @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@square, [{"a"}, {"b"}]>}) -> tensor<8x8xf32> {
    %0 = sdy.sharding_constraint %x <@line, [{"x"}, {}]> : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}
// PRINTS
module @main attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) -> (tensor<8x8xf32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a":(1)2, "b":(1)2}, {}]> : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}
