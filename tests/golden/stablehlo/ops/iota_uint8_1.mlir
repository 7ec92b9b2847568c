module @jit_iota_uint8_1 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<2x300xui8> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 1 : tensor<2x300xui8>
    return %0 : tensor<2x300xui8>
  }
}
