module @jit_iota_int8_0 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<200xi8> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<200xi8>
    return %0 : tensor<200xi8>
  }
}
