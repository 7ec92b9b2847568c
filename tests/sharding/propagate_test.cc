#include "tessera/sharding/propagate.h"

#include "tessera/control/control.h"
#include "tessera/control/control_flow_ops.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/verifier.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/trace/trace.h"
#include "tests/errors.h"
#include "tests/sharding/passes.h"

namespace tessera::propagate_test {

using namespace interchange;
using namespace sharding;

namespace {

using namespace array_math;
using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Arrays = std::vector<Array>;

// Lists every value of the function and its regions with its sharding: "sine [{"x"}, {}]".
void list_shardings(const Function& f, const std::string& indent, std::string& out) {
  auto list = [&](std::string_view what, ValueId v) {
    const Type& type = f.types[v];
    out += fmt::format("{}{} {}\n", indent, what, mlir_spec(type.sharding->spec(), type.rank()));
  };
  for (ValueId v : f.inputs) list("input", v);
  for (const Op& op : f.ops) {
    for (ValueId v : op.results) list(op.def->name, v);
    for (const FunctionRef& region : control_regions(op)) {
      out += indent + "  region\n";
      list_shardings(*region, indent + "  ", out);
    }
  }
}

// Returns the shardings that propagation finds from those in the text, on ("x": 2, "y": 4).
std::string propagated(std::string_view function) {
  const ParsedModule module =
      parse_module(fmt::format("module {{\nsdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>{}}}", function));
  const ShardingRequest request{module.input_shardings, module.output_shardings};
  const Function f = propagated_program(module.main, program_mesh(module.main, request), request);
  verify(f);
  std::string out = "\n";
  list_shardings(f, "", out);
  return out;
}

TEST(Propagate, AnEinsumPassesRowsAndColumnsOn) {
  EXPECT_EQ(propagated(R"(
func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<8x32xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.tanh %0 : tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}
)"),
            R"(
input [{"x"}, {}]
input [{}, {"y"}]
dot_general [{"x"}, {"y"}]
tanh [{"x"}, {"y"}]
)");
}

// If a weight's sharding is held back, it spreads after that of the batch: then it only determines
// how the weight is stored.
TEST(Propagate, WhatIsHeldBackSpreadsLast) {
  const ParsedModule module = parse_module(R"(module {
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func public @main(%arg0: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x64xf32>, tensor<64x64xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = stablehlo.tanh %0 : tensor<8x64xf32>
  %2 = stablehlo.negate %arg1 : tensor<64x64xf32>
  return %1, %2 : tensor<8x64xf32>, tensor<64x64xf32>
}})");
  const ShardingRequest request{module.input_shardings, module.output_shardings};
  const Mesh mesh = program_mesh(module.main, request);
  const auto shardings = [&](const ValueIds& held_back) {
    std::string out = "\n";
    list_shardings(propagate(module.main, mesh, request, held_back), "", out);
    return out;
  };
  const std::string together = R"(
input [{"x"}, {}]
input [{}, {"x"}]
dot_general [{}, {"x"}]
tanh [{}, {"x"}]
negate [{}, {"x"}]
)";
  EXPECT_EQ(shardings({}), together) << "the larger operand decides";
  EXPECT_EQ(shardings({module.main.inputs[0]}), together);
  EXPECT_EQ(shardings({module.main.inputs[1]}), R"(
input [{"x"}, {}]
input [{}, {"x"}]
dot_general [{"x"}, {}]
tanh [{"x"}, {}]
negate [{}, {"x"}]
)");
  // Orders that lead to the same shardings are merged.
  const ValueIds none, x{module.main.inputs[0]}, w{module.main.inputs[1]};
  const std::vector<Function> all =
      propagate_in_orders(module.main, mesh, request, std::vector{none, x, w, w, none});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0] == propagate(module.main, mesh, request));
  EXPECT_TRUE(all[1] == propagate(module.main, mesh, request, w));
}

// Backward: the sharding of a result reaches an argument without a sharding. That of a reduced
// dimension only reaches the other operand.
TEST(Propagate, FromResultsToArguments) {
  EXPECT_EQ(propagated(R"(
func.func public @main(%arg0: tensor<8x16xf32>, %arg1: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
)"),
            R"(
input [{"x"}, {"y"}]
input [{"y"}, {}]
dot_general [{"x"}, {}]
sharding_constraint [{"x"}, {}]
)");
}

// The rows of the batched product follow the larger operand. The contracting dimension does not
// determine the sharding of the result.
TEST(Propagate, OfConflictsTheLargestTensorWins) {
  EXPECT_EQ(propagated(R"(
func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x16xf32>, tensor<8x4x16xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<8x4x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<8x4x16xf32>
}
)"),
            R"(
input [{"y"}, {}]
input [{"x"}, {}]
dot_general [{}, {}]
dot_general [{"x"}, {}, {}]
)");
}

// (x, y) cut 32 rows. As 2 x 16, x cuts the rows in two, and y the columns in four.
TEST(Propagate, AReshapeSplitsTheAxesAmongItsFactors) {
  EXPECT_EQ(propagated(R"(
func.func public @main(%arg0: tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) -> (tensor<2x16xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.reshape %arg0 : (tensor<32xf32>) -> tensor<2x16xf32>
  %1 = stablehlo.reshape %arg0 : (tensor<32xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<2x16xf32>, tensor<4x8xf32>
}
)"),
            R"(
input [{"x", "y"}]
reshape [{"x"}, {"y"}]
reshape [{"x", "y":(1)2}, {"y":(2)2}]
)");
}

// Dimensions that the user closed or replicated get no axes; open dimensions get more.
TEST(Propagate, ConstraintsAreKept) {
  EXPECT_EQ(propagated(R"(
func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {?}]> : tensor<8x16xf32>
  %1 = stablehlo.sine %0 : tensor<8x16xf32>
  %2 = sdy.sharding_constraint %arg0 <@mesh, [{?}, {?}], replicated={"x"}> : tensor<8x16xf32>
  %3 = stablehlo.cosine %2 : tensor<8x16xf32>
  return %1, %3 : tensor<8x16xf32>, tensor<8x16xf32>
}
)"),
            R"(
input [{"x"}, {"y"}]
sharding_constraint [{}, {"y"}]
sine [{}, {"y"}]
sharding_constraint [{}, {"y"}]
cosine [{}, {"y"}]
)");
}

// The carry of a loop is one value: argument, region's input and output, result.
TEST(Propagate, LoopsAreOneProblemWithWhatIsAroundThem) {
  EXPECT_EQ(propagated(R"(
func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<i32>) -> (tensor<8x16xf32>) {
  %0:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %arg0) : tensor<i32>, tensor<8x16xf32>
  cond {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %iterArg, %c : tensor<i32>
    %2 = stablehlo.sine %iterArg_0 : tensor<8x16xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<8x16xf32>
  }
  return %0#1 : tensor<8x16xf32>
}
)"),
            R"(
input [{"x"}, {}]
input []
while []
while [{"x"}, {}]
  region
  input []
  input [{"x"}, {}]
  constant []
  compare []
  region
  input []
  input [{"x"}, {}]
  constant []
  add []
  sine [{"x"}, {}]
)");
}

// Inside a manual computation its axes cut nothing, and other axes pass through its borders.
TEST(Propagate, ManualAxesStayOutside) {
  EXPECT_EQ(propagated(R"(
func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x16xf32>) {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x16xf32>) {
    %1 = stablehlo.sine %arg1 : tensor<4x16xf32>
    sdy.return %1 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
)"),
            R"(
input [{"x"}, {"y"}]
full_to_shard [{}, {"y"}]
sine [{}, {"y"}]
shard_to_full [{"x"}, {"y"}]
)");
}

// Nor do they cut values that depend on nothing outside, even in a loop.
TEST(Propagate, ManualAxesStayOutsideOfValuesWithoutInputs) {
  EXPECT_EQ(propagated(R"(
func.func public @main() -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} () {
    %1 = stablehlo.iota dim = 0 : tensor<8x16xf32>
    %2 = stablehlo.constant dense<0> : tensor<i32>
    %3:2 = stablehlo.while(%iterArg = %2, %iterArg_0 = %1) : tensor<i32>, tensor<8x16xf32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %4 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %c = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %iterArg, %c : tensor<i32>
      %5 = stablehlo.iota dim = 1 : tensor<8x16xf32>
      %6 = stablehlo.sine %5 : tensor<8x16xf32>
      stablehlo.return %4, %6 : tensor<i32>, tensor<8x16xf32>
    }
    sdy.return %3#1 : tensor<8x16xf32>
  } : () -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
)"),
            R"(
constant []
iota [{}, {"y"}]
while []
while [{}, {"y"}]
  region
  input []
  input [{}, {"y"}]
  constant []
  compare []
  region
  input []
  input [{}, {"y"}]
  constant []
  add []
  iota [{}, {"y"}]
  sine [{}, {"y"}]
shard_to_full [{"x"}, {"y"}]
sharding_constraint [{"x"}, {"y"}]
)");
}

// --- The mesh of a program ---

ShardingRequest inputs_on(const std::vector<Mesh>& meshes) {
  ShardingRequest request;
  for (const Mesh& mesh : meshes)
    request.inputs.push_back(NamedSharding(mesh, P(mesh.axis_names()[0])));
  return request;
}

TEST(ProgramMesh, IsTheFinestOfThoseNamed) {
  const Mesh flat = Mesh::abstract({8}, {"x"}), grid = Mesh::abstract({2, 4}, {"a", "b"}),
             other = Mesh::abstract({4, 2}, {"c", "d"});
  const Function f =
      trace_function([](const Arrays& x) { return x; }, std::vector<Type>{}).function;
  EXPECT_EQ(program_mesh(f, {}), Mesh());
  EXPECT_EQ(program_mesh(f, inputs_on({flat})), flat);
  EXPECT_EQ(program_mesh(f, inputs_on({flat, grid})), grid);
  EXPECT_EQ(program_mesh(f, inputs_on({other, grid})), other) << "of equal rank the first";
  const Function constrained =
      trace_function(
          [&](const Arrays& x) {
            return Arrays{lax::sharding_constraint(x[0], NamedSharding(grid, P("a")))};
          },
          std::vector<Type>{{float32, {8}}})
          .function;
  EXPECT_EQ(program_mesh(constrained, {}), grid);
  EXPECT_EQ(program_mesh(constrained, inputs_on({flat})), grid);
  EXPECT_EQ(program_mesh(constrained, inputs_on({other})), other);
}

TEST(ProgramMesh, MeshesOfOtherDevicesAreRefused) {
  std::vector<Type> types{{float32, {16, 8}}, {float32, {16, 8}}};
  const TracedFunction traced =
      trace_function([&](const Arrays& x) { return Arrays{x[0] + x[1]}; }, types);
  const ShardingRequest request{{NamedSharding(Mesh::abstract({8}, {"x"}), P("x")),
                                 NamedSharding(Mesh::abstract({4}, {"x"}), P("x"))},
                                {std::nullopt}};
  try {
    program_mesh(traced.function, request);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), HasSubstr("over the same devices"));
  }
}

// Both print as Mesh('x': 4), so the message names the difference.
TEST(ProgramMesh, MeshesThatPrintAlikeAreToldApart) {
  auto mesh_of = [](std::vector<int64_t> ids) {
    std::vector<Device> devices(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) devices[i].id = ids[i];
    return Mesh(devices, {"x"});
  };
  const TracedFunction traced =
      trace_function([](const Arrays& x) { return Arrays{x[0] + x[1]}; },
                     std::vector<Type>{{float32, {16, 8}}, {float32, {16, 8}}});
  auto message = [&](const Mesh& a, const Mesh& b) -> std::string {
    const ShardingRequest request{{NamedSharding(a, P("x")), NamedSharding(b, P("x"))},
                                  {std::nullopt}};
    try {
      propagated_program(traced.function, program_mesh(traced.function, request), request);
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(
      message(mesh_of({0, 1, 2, 3}), mesh_of({4, 5, 6, 7})),
      HasSubstr("Mesh('x': 4) of devices 0, 1, 2, 3 and Mesh('x': 4) of devices 4, 5, 6, 7"));
  EXPECT_THAT(message(mesh_of({0, 1, 2, 3}), mesh_of({0, 1, 3, 2})),
              HasSubstr("of devices 0, 1, 3, 2"));
}

// The result is the iota that the group shards, not a copy of it.
TEST(ShardingGroups, MembersAreShardedAlike) {
  EXPECT_EQ(propagated(R"(
func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<8x16xf32>) -> (tensor<8x16xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<8x16xf32>
  sdy.sharding_group %arg0 group_id=3 : tensor<8x16xf32>
  sdy.sharding_group %0 group_id=3 : tensor<8x16xf32>
  "sdy.sharding_group"(%arg1) <{group_id = 4 : i64}> : (tensor<8x16xf32>) -> ()
  return %0 : tensor<8x16xf32>
}
)"),
            R"(
input [{"x"}, {"y"}]
input [{}, {}]
iota [{"x"}, {"y"}]
sharding_group [{"x"}, {"y"}]
sharding_group [{"x"}, {"y"}]
sharding_group [{}, {}]
)");
}

// %arg0 gets x from one group member and y from another.
TEST(ShardingGroups, GroupsWithACommonMemberAreOne) {
  EXPECT_EQ(propagated(R"(
func.func public @main(%arg0: tensor<8x16xf32>, %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, %arg2: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<8x16xf32>) {
  %0 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
  sdy.sharding_group %arg0 group_id=1 : tensor<8x16xf32>
  sdy.sharding_group %arg1 group_id=1 : tensor<8x16xf32>
  sdy.sharding_group %0 group_id=2 : tensor<8x16xf32>
  sdy.sharding_group %arg0 group_id=2 : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
)"),
            R"(
input [{"x"}, {"y"}]
input [{"x"}, {"y"}]
input [{"y"}]
broadcast_in_dim [{"x"}, {"y"}]
sharding_group [{"x"}, {"y"}]
sharding_group [{"x"}, {"y"}]
sharding_group [{"x"}, {"y"}]
sharding_group [{"x"}, {"y"}]
)");
}

// A member with another sharding from the user is not part of the group. Its own sharding does not
// reach the others.
TEST(ShardingGroups, WhatTheUserGaveStays) {
  EXPECT_EQ(propagated(R"(
func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg2: tensor<8x16xf32>) -> (tensor<8x16xf32>) {
  sdy.sharding_group %arg2 group_id=0 : tensor<8x16xf32>
  sdy.sharding_group %arg0 group_id=0 : tensor<8x16xf32>
  sdy.sharding_group %arg1 group_id=0 : tensor<8x16xf32>
  return %arg2 : tensor<8x16xf32>
}
)"),
            R"(
input [{"x"}, {}]
input [{}, {"x"}]
input [{"x"}, {}]
sharding_group [{"x"}, {}]
sharding_group [{"x"}, {}]
sharding_group [{}, {"x"}]
)");
}

TEST(ShardingGroups, MembersHaveOneShape) {
  EXPECT_THAT(error_of([] {
                propagated(R"(
func.func public @main(%arg0: tensor<8x16xf32>, %arg1: tensor<16xf32>) -> (tensor<16xf32>) {
  sdy.sharding_group %arg0 group_id=7 : tensor<8x16xf32>
  sdy.sharding_group %arg1 group_id=7 : tensor<16xf32>
  return %arg1 : tensor<16xf32>
}
)");
              }),
              AllOf(HasSubstr("[sharding_group] expected all members of group 7"),
                    HasSubstr("got float32[8,16] and float32[16]")));
}

}  // namespace
}  // namespace tessera::propagate_test
