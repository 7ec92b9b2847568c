module @jit_rfft_odd attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x7xf64>) -> (tensor<3x4xf64> {jax.result_info = "result"}) {
    %0 = call @fft(%arg0) : (tensor<3x7xf64>) -> tensor<3x4xcomplex<f64>>
    %1 = stablehlo.abs %0 : (tensor<3x4xcomplex<f64>>) -> tensor<3x4xf64>
    %2 = stablehlo.multiply %1, %1 : tensor<3x4xf64>
    return %2 : tensor<3x4xf64>
  }
  func.func private @fft(%arg0: tensor<3x7xf64>) -> tensor<3x4xcomplex<f64>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [7] : (tensor<3x7xf64>) -> tensor<3x4xcomplex<f64>>
    return %0 : tensor<3x4xcomplex<f64>>
  }
}
