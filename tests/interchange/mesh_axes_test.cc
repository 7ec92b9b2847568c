// Collectives with groups that are written as axes of a mesh: #stablehlo.replica_group_mesh_axes.
#include <gmock/gmock.h>

#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tests/interchange/foreign_text.h"

namespace tessera::interchange::mesh_axes_test {
namespace {

using foreign_text::expect_error;

using testing::HasSubstr;

constexpr const char* kSquare =
    "mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"x\", size = 2>, "
    "#stablehlo.mesh_axis<name = \"y\", size = 2>]>";

// Returns a program with an all_reduce over these groups, after these symbols.
std::string program(const std::string& groups, const std::string& symbols = "") {
  return fmt::format(R"(
    module {{
      {}
      func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {{
        %0 = "stablehlo.all_reduce"(%arg0) ({{
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %1 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }}) {{replica_groups = #stablehlo.replica_group_mesh_axes<{}>}} : (tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }}
    }})",
                     symbols, groups);
}
std::string printed(const std::string& text) {
  const Function f = parse_mlir(text, "test.mlir");
  verify(f);
  EXPECT_TRUE(parse_mlir(to_mlir(f)) == f) << to_mlir(f);
  return to_mlir(f);
}
std::string axis(const std::string& name) {
  return fmt::format("axes = [#stablehlo.axis_ref<name = \"{}\">]", name);
}

// The groups are those that StableHLO's own tests expect (mesh_axes_replica_group_compatibility).
TEST(MeshAxes, OfAMeshInTheAttribute) {
  EXPECT_THAT(printed(program(fmt::format("{}, {}", kSquare, axis("x")))),
              HasSubstr("replica_groups = dense<[[0, 2], [1, 3]]>"));
  EXPECT_THAT(printed(program(fmt::format("{}, {}", kSquare, axis("y")))),
              HasSubstr("replica_groups = dense<[[0, 1], [2, 3]]>"));
  EXPECT_THAT(printed(program(fmt::format("{}, axes = []", kSquare))),
              HasSubstr("replica_groups = dense<[[0], [1], [2], [3]]>"));
}

TEST(MeshAxes, OfSymbols) {
  const std::string groups = "mesh = @m, " + axis("x"), want = "dense<[[0, 2], [1, 3]]>";
  EXPECT_THAT(printed(program(groups, R"(sdy.mesh @m = <["x"=2, "y"=2]>)")), HasSubstr(want));
  EXPECT_THAT(
      printed(program(groups, R"("sdy.mesh"() {sym_name = "m", mesh = #sdy.mesh<["x"=2, "y"=2]>}
                                     : () -> ())")),
      HasSubstr(want));
  EXPECT_THAT(printed(program(groups, R"("sdy.mesh"() {sym_name = "m", stablehlo.mesh =
                  {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}]}}
                  : () -> ())")),
              HasSubstr(want));
  EXPECT_THAT(printed(program(groups, fmt::format("func.func private @m() attributes "
                                                  "{{stablehlo.{}}}",
                                                  kSquare))),
              HasSubstr(want));
}

TEST(MeshAxes, OfPartsOfAnAxis) {
  const std::string mesh =
      "mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"x\", "
      "size = 8>]>, axes = [#stablehlo.axis_ref<name = \"x\", sub_axis_info = ";
  EXPECT_THAT(printed(program(mesh + "(2)2>]")),
              HasSubstr("dense<[[0, 2], [1, 3], [4, 6], [5, 7]]>"));
  EXPECT_THAT(printed(program(mesh + "(1)2>]")),
              HasSubstr("dense<[[0, 4], [1, 5], [2, 6], [3, 7]]>"));
}

// Groups along another mesh over the devices of the computation become groups of its ranks.
TEST(MeshAxes, OfAnotherMeshThanTheComputations) {
  const std::string text = R"(
    module {
      sdy.mesh @mesh = <["x"=4, "y"=2]>
      func.func private @other() attributes {stablehlo.mesh = #stablehlo.mesh<axes =
          [#stablehlo.mesh_axis<name = "a", size = 2>, #stablehlo.mesh_axis<name = "b", size = 4>]>}
      func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
        %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg1: tensor<2x4xf32>) {
          %1 = "stablehlo.all_reduce"(%arg1) ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %2 = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %2 : tensor<f32>
          }) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @other, axes =
                [#stablehlo.axis_ref<name = "b">, #stablehlo.axis_ref<name = "a">]>}
              : (tensor<2x4xf32>) -> tensor<2x4xf32>
          sdy.return %1 : tensor<2x4xf32>
        } : (tensor<8x8xf32>) -> tensor<8x8xf32>
        return %0 : tensor<8x8xf32>
      }
    })";
  EXPECT_THAT(printed(text), HasSubstr("dense<[[0, 4, 1, 5, 2, 6, 3, 7]]>"));
}

TEST(MeshAxes, Errors) {
  expect_error(program("mesh = @none, " + axis("x")),
               "expected replica_groups to name a mesh of this module, or to hold one");
  expect_error(program(fmt::format("{}, {}", kSquare, axis("z"))), "'z'");
  expect_error(program(fmt::format("{}, axes = [@x]", kSquare)),
               "expected axes of the mesh, as axes = [#stablehlo.axis_ref<name = \"x\">]");
  expect_error(program("mesh = #stablehlo.mesh<axes = [3]>, " + axis("x")),
               "expected a mesh, as #stablehlo.mesh<axes =");
  expect_error(program("mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"x\", size = "
                       "2>], device_ids = dense<[0, 1, 2]> : tensor<3xi64>>, " +
                       axis("x")),
               "expected a device id for each of the 2 positions of the mesh");
  expect_error(program("mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"x\", size = "
                       "0>]>, axes = []"),
               "expected axes of sizes from 1 on");
  expect_error("func.func private @main()\n", "expected @main to have a body");
  expect_error(
      "func.func private @f()\nfunc.func @main() {\n func.call @f() : () -> ()\n return\n}", "@f");
}

}  // namespace
}  // namespace tessera::interchange::mesh_axes_test
