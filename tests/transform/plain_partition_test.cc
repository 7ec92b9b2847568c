#include "tessera/transform/programs/plain_partition.h"

#include <gmock/gmock.h>

#include "tests/pass_text.h"

namespace tessera {

using namespace transforms;

namespace {

// What a device with axis_index and fft_along computes, and the same without them.
std::string plain_text(std::string_view before) {
  return to_mlir(plain_partition(parse_mlir(before)), {.plain = PlainModule{4, {}}});
}

TEST(PlainPartition, ADeviceFindsItsRanksInATable) {
  initialize({.devices = "cpu:4"});
  EXPECT_EQ(
      plain_text(R"(module {
  sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>
  func.func @main() -> tensor<i32> {
    %0 = stablehlo.custom_call @tessera.axis_index() {api_version = 4 : i32, backend_config = {mesh = @mesh, axes = ["x"]}, tessera.varying = [["x"]]} : () -> tensor<i32>
    return %0 : tensor<i32>
  }
})"),
      R"(module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @main() -> (tensor<i32>) {
    %0 = stablehlo.replica_id  : tensor<ui32>
    %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i32>
    %2 = stablehlo.constant dense<[0, 1, 0, 1]> : tensor<4xi32>
    %3 = stablehlo.dynamic_slice %2, %1, sizes = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.reshape %3 : (tensor<1xi32>) -> tensor<i32>
    return %4 : tensor<i32>
  }
}
)");
  initialize({.devices = "cpu:1"});
}

TEST(PlainPartition, ATransformAlongADimensionIsOneOfTheLast) {
  EXPECT_EQ(
      plain_text(R"(func.func @main(%x: tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>> {
    %0 = stablehlo.custom_call @tessera.fft_along(%x) {api_version = 4 : i32, backend_config = {fft_type = "FFT", dimension = 0 : i64}} : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
    return %0 : tensor<4x6xcomplex<f32>>
  })"),
      R"(module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @main(%arg0: tensor<4x6xcomplex<f32>>) -> (tensor<4x6xcomplex<f32>>) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x6xcomplex<f32>>) -> tensor<6x4xcomplex<f32>>
    %1 = stablehlo.fft %0, type = FFT, length = [4] : (tensor<6x4xcomplex<f32>>) -> tensor<6x4xcomplex<f32>>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<6x4xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
    return %2 : tensor<4x6xcomplex<f32>>
  }
}
)");
}

}  // namespace
}  // namespace tessera
