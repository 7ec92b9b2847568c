#include "tessera/sharding/finer_mesh.h"

#include <gmock/gmock.h>

#include "tessera/control/control.h"
#include "tests/errors.h"
#include "tests/pass_text.h"

namespace tessera::finer_mesh_test {

using namespace interchange;
using namespace sharding;

namespace {

using test::error_of;
using test::text_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Mesh& mesh22() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({2, 2}, {"x", "y"}));
  return mesh;
}

TEST(FinerMesh, HasTheSizesAsked) {
  EXPECT_EQ(finer_mesh(mesh22(), {{"x", 8}}), Mesh::abstract({8, 2}, {"x", "y"}));
  EXPECT_EQ(finer_mesh(mesh22(), {{"y", 6}, {"x", 2}}), Mesh::abstract({2, 6}, {"x", "y"}));
  EXPECT_EQ(finer_mesh(mesh22(), {}), mesh22());
}

// If devices are real, the finer mesh has devices of their kind, numbered from 0, however many
// there are.
TEST(FinerMesh, IsTheSameForEveryNumberOfDevices) {
  std::vector<Device> devices(4);
  for (size_t i = 0; i < 4; ++i) devices[i].id = static_cast<int64_t>(10 + i);
  const Mesh one({devices[0]}, {"x"}), four(devices, {"x"});
  const Mesh fine = finer_mesh(one, {{"x", 4}});
  EXPECT_EQ(fine, finer_mesh(four, {{"x", 4}}));
  EXPECT_FALSE(fine.is_abstract());
  EXPECT_THAT(fine.device_ids(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(fine.devices()[3].kind, devices[0].kind);
}

TEST(FinerMesh, Errors) {
  const auto error = [](const AxisSizes& sizes) {
    return error_of([&] { finer_mesh(mesh22(), sizes); });
  };
  EXPECT_THAT(
      error({{"z", 4}}),
      HasSubstr("[jit] expected compute_as to name axes of AbstractMesh('x': 2, 'y': 2), got 'z'"));
  EXPECT_THAT(error({{"x", 4}, {"x", 8}}),
              HasSubstr("[jit] expected compute_as to name each axis once, got 'x' with 4 and with "
                        "8; keep one of them"));
  for (const int64_t size : {3, 1, 0, -2})
    EXPECT_THAT(error({{"x", size}}),
                HasSubstr(fmt::format("[jit] expected compute_as to give axis 'x' a multiple of "
                                      "its 2 devices, got {}",
                                      size)));
  EXPECT_THAT(error_of([] {
                finer_mesh(Mesh::abstract({1}, {"x"}), {{"x", 0}});
              }),
              HasSubstr("a multiple of its 1 device, got 0"));
}

TEST(FinerMesh, FunctionsCarryItEverywhere) {
  const Function f = parse_mlir(R"(
module {
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>) {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<8xf32>
  cond {
    %c = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %1 = sdy.sharding_constraint %iterArg <@mesh, [{"x"}]> : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }
  %2 = sdy.sharding_constraint %0 <@mesh, [{}]> : tensor<8xf32>
  return %2 : tensor<8xf32>
}
}
)");
  const std::string text = to_mlir(on_finer_mesh(f, {{"x", 8}}));
  EXPECT_THAT(text, HasSubstr("sdy.mesh @mesh = <[\"x\"=8]>"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("\"x\"=2")));
}

TEST(FinerMesh, RefusesManualComputations) {
  const Function f = parse_mlir(R"(
module {
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>) {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<4xf32>) {
    sdy.return %arg1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
}
)");
  EXPECT_THAT(error_of([&] {
                on_finer_mesh(f, {{"x", 4}});
              }),
              HasSubstr("[jit] expected a program without shard_map where compute_as is given, got "
                        "one at <text>:5; give its mesh the wanted size instead"));
}

TEST(FinerMesh, Requests) {
  const ShardingRequest fine = on_finer_mesh(
      ShardingRequest{{NamedSharding(mesh22(), P("x")), std::nullopt}, {std::nullopt}, {{"x", 8}}});
  EXPECT_EQ(fine.inputs[0], NamedSharding(Mesh::abstract({8, 2}, {"x", "y"}), P("x")));
  EXPECT_EQ(fine.inputs[1], std::nullopt);
  EXPECT_EQ(fine.outputs[0], std::nullopt);
  EXPECT_TRUE(fine.compute_as.empty());
}

TEST(FinerMesh, AndBack) {
  const Mesh fine = finer_mesh(mesh22(), {{"x", 8}});
  const NamedSharding cut(fine, P(joint("x", "y"), None));
  EXPECT_EQ(on_coarser_mesh(cut, mesh22()), NamedSharding(mesh22(), P(joint("x", "y"), None)));
  const NamedSharding part(fine, P(AxisRef{"x", 1, 4}, "y"));
  EXPECT_EQ(on_coarser_mesh(part, mesh22()), NamedSharding(mesh22(), P(None, "y")))
      << "a part of the finer axis is no axis";
}

}  // namespace
}  // namespace tessera::finer_mesh_test
