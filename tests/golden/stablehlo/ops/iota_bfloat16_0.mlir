module @jit_iota_bfloat16_0 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<300xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<300xbf16>
    return %0 : tensor<300xbf16>
  }
}
