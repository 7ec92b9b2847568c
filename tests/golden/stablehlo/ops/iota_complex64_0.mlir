module @jit_iota_complex64_0 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main() -> (tensor<4xcomplex<f32>> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<4xcomplex<f32>>
    return %0 : tensor<4xcomplex<f32>>
  }
}
