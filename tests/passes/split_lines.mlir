// The transform needs its lines whole and has no other dimension to be sharded instead: it is split into shorter ones.
// OPTIONS --devices cpu:4 --passes propagate split_lines
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<64xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<64xcomplex<f32>> {
    %0 = stablehlo.fft %x, type = FFT, length = [64] : (tensor<64xcomplex<f32>>) -> tensor<64xcomplex<f32>>
    return %0 : tensor<64xcomplex<f32>>
  }
}
// PRINTS
module @main attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<64xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<64xcomplex<f32>>) -> tensor<8x8xcomplex<f32>>
    %1 = stablehlo.custom_call @tessera.fft_along(%0) {api_version = 4 : i32, backend_config = {fft_type = "FFT", dimension = 0 : i64}, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x8xcomplex<f32>>) -> tensor<8x8xcomplex<f32>>
    %2 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x8xf64>
    %3 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x8xf64>
    %4 = stablehlo.multiply %2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x8xf64>
    %5 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} dense<-9.817477042468103e-02> : tensor<8x8xf64>
    %6 = stablehlo.multiply %4, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x8xf64>
    %7 = stablehlo.cosine %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x8xf64>
    %8 = stablehlo.convert %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x8xf64>) -> tensor<8x8xf32>
    %9 = stablehlo.sine %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x8xf64>
    %10 = stablehlo.convert %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x8xf64>) -> tensor<8x8xf32>
    %11 = stablehlo.complex %8, %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xcomplex<f32>>
    %12 = stablehlo.multiply %1, %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x8xcomplex<f32>>
    %13 = stablehlo.custom_call @tessera.fft_along(%12) {api_version = 4 : i32, backend_config = {fft_type = "FFT", dimension = 1 : i64}, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x8xcomplex<f32>>) -> tensor<8x8xcomplex<f32>>
    %14 = stablehlo.transpose %13, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<8x8xcomplex<f32>>) -> tensor<8x8xcomplex<f32>>
    %15 = sdy.sharding_constraint %14 <@mesh, [{"x"}, {}]> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x8xcomplex<f32>>
    %16 = stablehlo.reshape %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8x8xcomplex<f32>>) -> tensor<64xcomplex<f32>>
    %17 = sdy.sharding_constraint %16 <@mesh, [{"x"}]> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<64xcomplex<f32>>
    return %17 : tensor<64xcomplex<f32>>
  }
}
