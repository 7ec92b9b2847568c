module @jit_reduce_add_int8_wraps attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x5xi8>, %arg1: tensor<i8>) -> (tensor<3xi8> {jax.result_info = "result[0]"}) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [1] : (tensor<3x5xi8>, tensor<i8>) -> tensor<3xi8>
    return %0 : tensor<3xi8>
  }
}
