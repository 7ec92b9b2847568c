// A Fourier transform over two dimensions is one along each, so that each may be sharded over the other.
// OPTIONS --devices cpu:4 --passes split_transforms
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<4x8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x8xcomplex<f32>> {
    %0 = stablehlo.fft %x, type = FFT, length = [4, 8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    return %0 : tensor<4x8xcomplex<f32>>
  }
}
// PRINTS
module @main attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<4x8xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x8xcomplex<f32>>) {
    %0 = stablehlo.fft %arg0, type = FFT, length = [8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    %1 = stablehlo.custom_call @tessera.fft_along(%0) {api_version = 4 : i32, backend_config = {fft_type = "FFT", dimension = 0 : i64}} : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    return %1 : tensor<4x8xcomplex<f32>>
  }
}
