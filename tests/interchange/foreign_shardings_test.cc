// Shardings in StableHLO text that Tessera reads and does not write: GSPMD's, and priorities.
#include <gmock/gmock.h>

#include "tessera/interchange/hlo_sharding.h"
#include "tests/interchange/foreign_text.h"

namespace tessera::interchange::foreign_shardings_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using foreign_text::expect_error;
using foreign_text::values;

TEST(HloShardings, CutPartsOfOneAxis) {
  const auto spec = [](std::string_view text, int64_t rank, int64_t partitions = 8) {
    const HloSharding out = parse_hlo_sharding(text, rank, partitions);
    EXPECT_EQ(out.problem, "") << text;
    return out.spec ? fmt::format("{}", *out.spec) : "open";
  };
  EXPECT_EQ(spec("{replicated}", 2), "PartitionSpec(None, None)");
  EXPECT_EQ(spec("{unknown}", 2), "open");
  EXPECT_EQ(spec("{devices=[8,1]<=[8]}", 2), "PartitionSpec('partitions', None)");
  EXPECT_EQ(spec("{devices=[8,1]0,1,2,3,4,5,6,7}", 2), "PartitionSpec('partitions', None)");
  EXPECT_EQ(spec("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", 2),
            "PartitionSpec('partitions:(1)2', None)");
  EXPECT_EQ(spec("{devices=[2,4]<=[4,2]T(1,0)}", 2),
            "PartitionSpec('partitions:(4)2', 'partitions:(1)4')");
  EXPECT_EQ(spec("{devices=[2,2]0,2,1,3}", 2, 4),
            "PartitionSpec('partitions:(2)2', 'partitions:(1)2')");
  EXPECT_EQ(spec("{devices=[4,1,2]<=[2,2,2]T(0,2,1) last_tile_dims={replicated}}", 2),
            "PartitionSpec(('partitions:(1)2', 'partitions:(4)2'), None)");
}

TEST(HloShardings, OthersAreRefused) {
  const auto problem = [](std::string_view text) { return parse_hlo_sharding(text, 2, 8).problem; };
  EXPECT_THAT(problem("{manual}"), HasSubstr("shard_map"));
  EXPECT_THAT(problem("{maximal device=3}"), HasSubstr("one of several devices"));
  EXPECT_THAT(problem("{devices=[4,1]<=[4]}"), HasSubstr("another number of devices"));
  EXPECT_THAT(problem("{devices=[8]<=[8]}"), HasSubstr("the array has 2 dimensions"));
  EXPECT_THAT(problem("{devices=[4,2]0,5,2,3,4,1,6,7}"), HasSubstr("no transpose"));
  EXPECT_THAT(problem("{devices=[8,1]<=[8]T(0,1)}"), HasSubstr("no permutation"));
  EXPECT_THAT(problem("{devices=[2,1,4]<=[8] last_tile_dims={manual}}"), HasSubstr("is manual"));
  EXPECT_THAT(problem("{devices=[8,1]<=[8] and more}"), HasSubstr("goes on"));
  EXPECT_THAT(problem("nonsense"), HasSubstr("not understood"));
  EXPECT_THAT(problem("{devices=[99999999999999999999]<=[8]}"), HasSubstr("not understood"));
}

TEST(HloShardings, OfArgumentsResultsAndCalls) {
  const ParsedModule module = parse_module(R"(
    module @m attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
      func.func public @main(%x: tensor<16x4xf32> {mhlo.sharding = "{devices=[8,1]<=[8]}"}, %y: tensor<f32> {mhlo.sharding = "{replicated}"}) -> (tensor<16x4xf32> {mhlo.sharding = "{devices=[2,4]<=[8]}"}) {
        %0 = stablehlo.sine %x : tensor<16x4xf32>
        %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<16x4xf32>) -> tensor<16x4xf32>
        return %1 : tensor<16x4xf32>
      }
    })",
                                           "test.mlir");
  verify(module.main);
  ASSERT_EQ(module.meshes.size(), 1U);
  EXPECT_EQ(fmt::format("{}", module.input_shardings[0]->spec()),
            "PartitionSpec('partitions', None)");
  EXPECT_EQ(fmt::format("{}", module.output_shardings[0]->spec()),
            "PartitionSpec('partitions:(1)2', 'partitions:(2)4')");
  EXPECT_THAT(to_mlir(module.main), HasSubstr("sdy.sharding_constraint"));
  EXPECT_THAT(to_mlir(module.main), HasSubstr("[{\"partitions\":(1)4}, {?}]"));
  expect_error(
      "module attributes {mhlo.num_partitions = 8 : i32} {\n"
      "func.func @main(%x: tensor<16xf32> {mhlo.sharding = \"{manual}\"}) -> tensor<16xf32> {\n"
      "return %x : tensor<16xf32>\n}\n}",
      ":2:");
}

TEST(Priorities, AreReadAndNotNeeded) {
  const ParsedModule module = parse_module(R"(
    sdy.mesh @mesh = <["x"=2]>
    func.func @main(%x: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p0, {}p1]>}) -> tensor<4x2xf32> {
      return %x : tensor<4x2xf32>
    })",
                                           "test.mlir");
  EXPECT_EQ(fmt::format("{}", module.input_shardings[0]->spec()), "PartitionSpec('x', None)");
}

}  // namespace
}  // namespace tessera::interchange::foreign_shardings_test
