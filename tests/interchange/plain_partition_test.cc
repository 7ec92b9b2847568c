#include "tessera/interchange/programs/plain_partition.h"

#include <gmock/gmock.h>

#include "tessera/mesh/mesh.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/trace/trace.h"
#include "tests/pass_text.h"

namespace tessera::plain_partition_test {

using namespace interchange;

namespace {

// Returns the text of a partitioned program after axis_index and fft_along are replaced.
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

// The op is constructed here, because the reader splits such ops.
TEST(PlainPartition, CollectivesOfSeveralArraysAreOneOfEach) {
  initialize({.devices = "cpu:4"});
  const Mesh mesh = make_mesh({2, 2}, {"x", "y"});
  const Type varying{.dtype = float32, .shape = {4, 2}, .varying = {"x"}};
  const TracedFunction traced = trace_function(
      [&](const std::vector<Array>& x) {
        std::vector<Array> out = bind_op(
            reduce_scatter_op, ReduceScatterParams{mesh, {"x"}, {}, ReduceKind::kSum, 0}, x);
        const std::vector<Array> moved = bind_op(
            collective_permute_op, CollectivePermuteParams{mesh, {"x"}, {{0, 1}, {1, 0}}}, x);
        const std::vector<Array> turned =
            bind_op(all_to_all_op, AllToAllParams{mesh, {"x"}, {}, 0, 1}, x);
        const std::vector<Array> gathered =
            bind_op(all_gather_op, AllGatherParams{mesh, {"x"}, {}, 0}, x);
        for (const auto* more : {&moved, &turned, &gathered})
          out.insert(out.end(), more->begin(), more->end());
        return out;
      },
      std::vector<Type>{varying, varying});
  const Function f = plain_partition(traced.function);
  std::string ops;
  for (const Op& op : f.ops) ops += fmt::format("{} {} ", op.operands.size(), op.def->name);
  EXPECT_EQ(ops,
            "1 reduce_scatter 1 reduce_scatter 1 collective_permute 1 collective_permute "
            "1 all_to_all 1 all_to_all 2 all_gather ");
  EXPECT_EQ(f.types_of(f.outputs), traced.function.types_of(traced.function.outputs));
  initialize({.devices = "cpu:1"});
}

}  // namespace
}  // namespace tessera::plain_partition_test
