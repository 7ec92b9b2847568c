#include "tessera/interchange/text/printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <set>

#include "tessera/control/control.h"
#include "tessera/control/control_flow_ops.h"
#include "tessera/control/manual_boundary.h"
#include "tessera/interchange/text/parser.h"
#include "tessera/ir/verifier.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::printer_test {

using namespace interchange;

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Mesh& mesh() {
  static const Mesh m = Mesh::abstract({2, 4}, {"x", "y"});
  return m;
}

std::shared_ptr<const NamedSharding> sharding(PartitionSpec spec) {
  return std::make_shared<const NamedSharding>(mesh(), std::move(spec));
}

ValueId add(Function& f, const OpDef& def, OpParams params, ValueIds operands) {
  const std::vector<Type> types = infer_types(def, f.types_of(operands), params);
  return f.add_op(def, std::move(params), std::move(operands), types)[0];
}

std::string round_trip(const Function& f) {
  verify(f);
  const std::string text = to_mlir(f);
  try {
    EXPECT_TRUE(parse_mlir(text) == f) << text;
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what() << "\n" << text;
  }
  return text;
}

// One function for each sample of each op: parse(print(f)) == f.
TEST(Printer, EveryOpRoundTrips) {
  int count = 0;
  for (const OpDef* def : all_ops()) {
    if (!def->samples) continue;
    for (const Sample& sample : def->samples()) {
      SCOPED_TRACE(fmt::format("{}.{}", def->dialect, def->name));
      Function f;
      ValueIds inputs;
      for (const Type& type : sample.operands) inputs.push_back(f.add_input(type));
      const std::vector<Type> types = infer_types(*def, sample.operands, sample.params);
      for (ValueId v : f.add_op(*def, sample.params, inputs, types)) f.outputs.push_back(v);
      round_trip(f);
      ++count;
    }
  }
  EXPECT_GT(count, 500);
}

TEST(Printer, TheProgramOfTheHeader) {
  Function f;
  f.name = "jit_f";
  f.outputs = {add(f, sin_op, NoParams{}, {f.add_input({float32, {4, 8}})})};
  f.types[0].sharding = sharding(P("x", "y"));
  EXPECT_EQ(
      round_trip(f),
      R"(module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {tessera.abstract}
  func.func public @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<4x8xf32>) {
    %0 = stablehlo.sine %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
)");
}

TEST(Printer, WeakVaryingAndShardedTypes) {
  Function f;
  const ValueId x =
      f.add_input({.dtype = float32, .shape = {}, .weak = true, .varying = {"x", "y"}});
  const ValueId s = add(f, sin_op, NoParams{}, {x});
  const ValueId c = add(f, constant_op, ConstantParams{Literal::scalar(2.0f), {}, true}, {});
  f.outputs = {add(f, mul_op, NoParams{}, {s, c}), s};
  f.types[s].varying = {"y"};
  f.types[c].sharding = sharding(P());
  f.types[f.outputs[0]].weak = false;
  f.types[f.outputs[0]].varying = {};
  const std::string text = round_trip(f);
  EXPECT_THAT(text,
              HasSubstr("%arg0: tensor<f32> {tessera.varying = [\"x\", \"y\"], tessera.weak}"));
  EXPECT_THAT(text, HasSubstr("stablehlo.sine %arg0 {tessera.varying = [[\"y\"]]} : tensor<f32>"));
  EXPECT_THAT(text, HasSubstr("stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, "
                              "[]>]>, tessera.weak = [true]} "
                              "dense<2.000000e+00> : tensor<f32>"));
}

TEST(Printer, OneShardedResultOfTwo) {
  Function f;
  const ValueId x = f.add_input({float32, {8}}), i = f.add_input({int32, {8}});
  const ValueId a = f.add_input({float32, {}}), b = f.add_input({int32, {}});
  const std::vector<Type> types = {{float32, {}}, {int32, {}}};
  const ValueIds results =
      f.add_op(reduce_op, ReduceParams{{0}, ReduceKind::kArgMax}, {x, i, a, b}, types);
  f.outputs = {results[0], results[1]};
  f.types[results[1]].sharding = sharding(P());
  EXPECT_THAT(round_trip(f), HasSubstr("tessera.unsharded = array<i64: 0>"));
}

TEST(Printer, Literals) {
  EXPECT_EQ(mlir_literal(Literal::scalar(0.1f), {}), "dense<1.000000e-01>");
  EXPECT_EQ(mlir_literal(Literal::scalar(16777217.0), {}), "dense<1.6777217e+07>");
  EXPECT_EQ(mlir_literal(Literal::scalar(-HUGE_VAL), {}), "dense<0xFFF0000000000000>");
  EXPECT_EQ(mlir_literal(Literal::scalar(Bfloat16(1.5f)), {}), "dense<1.500000e+00>");
  EXPECT_EQ(mlir_literal(Literal::scalar(std::complex<float>(1, NAN)), {}),
            "dense<(1.000000e+00,0x7FC00000)>");
  EXPECT_EQ(mlir_literal(Literal::scalar(int8_t{-3}), {}), "dense<-3>");
  EXPECT_EQ(mlir_literal(Literal(bool_, {1, 2}), {1, 2}), "dense<[[false, false]]>");
  EXPECT_EQ(mlir_literal(Literal(int32, {0, 2}), {0, 2}), "dense<>");
  EXPECT_EQ(mlir_literal(Literal(int8, {65}), {65}).substr(0, 12), "dense<\"0x000");
  EXPECT_EQ(mlir_symbol("<lambda>"), "@\"<lambda>\"");
  EXPECT_EQ(mlir_string("a\"b\\\n"), "\"a\\\"b\\\\\\0A\"");
  EXPECT_EQ(mlir_spec(PartitionSpec({DimSpec({{"x"}, {"y", 1, 2}}, true)}, {{"z"}}), 2),
            "[{\"x\", \"y\":(1)2, ?}, {}], replicated={\"z\"}");
}

TEST(Printer, Locations) {
  Function f;
  const ValueId x = f.add_input({float32, {}});
  f.outputs = {f.add_op(sin_op, NoParams{}, {x}, std::vector{Type{float32, {}}}, "user.cc:42")[0]};
  EXPECT_THAT(to_mlir(f), Not(HasSubstr("loc(")));
  const std::string text = to_mlir(f, {.locations = true});
  EXPECT_THAT(text, HasSubstr("stablehlo.sine %arg0 : tensor<f32> loc(\"user.cc:42\")\n"));
  EXPECT_EQ(parse_mlir(text).ops[0].source, "user.cc:42");
}

TEST(Printer, CalledFunctionsStandOnceAndHaveDifferentNames) {
  auto callee = [](const OpDef& def) {
    Function g;
    g.name = "main";
    g.outputs = {add(g, def, NoParams{}, {g.add_input({float32, {}})})};
    return std::make_shared<const Function>(g);
  };
  Function f;
  ValueId x = f.add_input({float32, {}});
  for (const FunctionRef& g : {callee(sin_op), callee(cos_op), callee(sin_op)})
    x = add(f, call_op, CallParams{g}, {x});
  f.outputs = {x};
  const std::string text = round_trip(f);
  EXPECT_THAT(text, HasSubstr("func.call @main_0(%arg0)"));
  EXPECT_THAT(text, HasSubstr("func.call @main_0(%1)"));
  EXPECT_THAT(text, HasSubstr("func.func private @main_1(%arg0: tensor<f32>)"));
  EXPECT_THAT(text, Not(HasSubstr("@main_2")));
}

// JAX's users give a call attributes for XLA (jax.experimental.scheduling_groups).
TEST(Printer, CallsKeepTheAttributesOfTheirUsers) {
  const auto program = [](std::string_view attributes) {
    return fmt::format(R"(func.func @main(%x: tensor<f32>) -> tensor<f32> {{
      %0 = func.call @f(%x) {{mhlo.frontend_attributes = {}}} : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }}
    func.func private @f(%a: tensor<f32>) -> tensor<f32> {{
      %0 = stablehlo.sine %a : tensor<f32>
      return %0 : tensor<f32>
    }})",
                       attributes);
  };
  const std::string_view written = R"({"a-name" = "\"1\"", inlineable = "false"})";
  const std::string text = round_trip(parse_mlir(program(written)));
  EXPECT_THAT(text, HasSubstr(fmt::format("func.call @f(%arg0) {{mhlo.frontend_attributes = {}}} :",
                                          written)));
  EXPECT_THAT(round_trip(parse_mlir(program("{}"))), Not(HasSubstr("frontend_attributes")));
  for (const auto& [bad, expected] :
       {std::pair{"\"x\"", "expected 'mhlo.frontend_attributes' to be a dictionary"},
        {"{a = 1 : i64}",
         "expected the values of 'mhlo.frontend_attributes' to be strings, got "
         "another for 'a'; write a = \"...\""}}) {
    try {
      parse_mlir(program(bad));
      ADD_FAILURE() << bad;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr(expected));
    }
  }
}

// An open dimension of a sharding is also written as a question mark. All extents are written here,
// so functions are read before they are called, wherever their names occur.
TEST(Printer, LoopsBesideShardingsOfOpenDimensions) {
  Function body;
  const ValueId carry = body.add_input({float32, {}});
  body.outputs = {add(body, sin_op, NoParams{}, {carry})};
  Function f;
  const ValueId x = f.add_input({float32, {8}}), c = f.add_input({float32, {}});
  const ShardingConstraintParams open{
      NamedSharding(mesh(), PartitionSpec(std::vector<DimSpec>{DimSpec(UNCONSTRAINED)}))};
  const ScanParams loop{std::make_shared<const Function>(body), 3, 0, 1};
  f.outputs = {add(f, sharding_constraint_op, open, {x}), add(f, scan_op, loop, {c})};
  const std::string text = round_trip(f);
  EXPECT_THAT(text, HasSubstr("<@mesh, [{?}]>"));
  EXPECT_THAT(text, HasSubstr("@tessera.scan(%arg1)"));
}

// Each device computes x * 2, which is summed over x, in all forms of collectives.
TEST(Printer, CollectivesInAManualComputation) {
  Function body;
  const ValueId x = body.add_input({.dtype = float32, .shape = {4, 8}, .varying = {"x"}});
  const std::vector<std::string> axes = {"x"};
  const ValueId i = add(body, axis_index_op, AxisIndexParams{mesh(), axes}, {});
  const ValueId sum =
      add(body, all_reduce_op, AllReduceParams{mesh(), axes, {}, ReduceKind::kMax}, {x});
  const ValueId back = add(body, pcast_op, PcastParams{mesh(), axes}, {sum});
  const ValueId all = add(body, all_gather_op, AllGatherParams{mesh(), axes, {}, 0, true}, {back});
  const ValueId mine =
      add(body, reduce_scatter_op, ReduceScatterParams{mesh(), axes, {}, ReduceKind::kSum, 1}, {x});
  const ValueId a2a = add(body, all_to_all_op, AllToAllParams{mesh(), axes, {}, 1, 0}, {x});
  const ValueId moved =
      add(body, collective_permute_op, CollectivePermuteParams{mesh(), axes, {{0, 1}}}, {x});
  const ValueId cast =
      add(body, collective_broadcast_op, CollectiveBroadcastParams{mesh(), axes, {}, 1}, {x});
  const ValueId part =
      add(body, all_reduce_op, AllReduceParams{mesh(), {"y:(1)2"}, {}, ReduceKind::kSum}, {x});
  const ValueId grouped = add(
      body, all_reduce_op, AllReduceParams{mesh(), {"y"}, {{0, 2, 3}, {1}}, ReduceKind::kSum}, {x});
  body.outputs = {all, mine, a2a, moved, cast, part, grouped};
  (void)i;
  ManualComputationParams p;
  p.mesh = mesh();
  p.in_specs = {P("x")};
  p.out_specs = {P(), P("x"), P("x"), P("x"), P("x"), P("x"), P("x")};
  p.manual_axes = {"x", "y"};
  p.check_vma = false;
  p.body = std::make_shared<const Function>(body);
  Function f;
  const ValueId in = f.add_input({float32, {8, 8}});
  const std::vector<Type> types = infer_types(manual_computation_op, f.types_of(ValueIds{in}), p);
  for (ValueId v : f.add_op(manual_computation_op, p, {in}, types)) f.outputs.push_back(v);
  const std::string text = round_trip(f);
  EXPECT_THAT(text, HasSubstr("in_shardings=[<@mesh, [{\"x\"}, {}]>]"));
  EXPECT_THAT(text, HasSubstr("manual_axes={\"x\", \"y\"} (%arg1: tensor<4x8xf32>) {"));
  EXPECT_THAT(
      text,
      HasSubstr("replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>"));
  EXPECT_THAT(text, HasSubstr("[[0, 2, 3], [1, -1, -1]"));
  EXPECT_THAT(text, HasSubstr("stablehlo.custom_call @tessera.pcast("));
}

TEST(Printer, BordersOfManualComputations) {
  Function f;
  const ValueId x = f.add_input({float32, {8, 8}});
  const ManualBoundaryParams p{mesh(), P("x", "y"), {"x", "y"}};
  f.outputs = {add(f, shard_to_full_op, p, {add(f, full_to_shard_op, p, {x})})};
  EXPECT_THAT(
      round_trip(f),
      HasSubstr("@tessera.full_to_shard(%arg0) {api_version = 4 : i32, backend_config = {mesh = "
                "@mesh, spec = "
                "#sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>, manual_axes = [\"x\", \"y\"]}}"));
}

TEST(Printer, MeshesOfDevices) {
  initialize({.devices = "cpu:8"});
  std::vector<Device> some = devices();
  std::reverse(some.begin(), some.end());
  const Mesh reversed(some, {"r"}), all(devices(), {"x"});
  const Mesh last(std::vector<Device>(devices().begin() + 6, devices().end()), {"l"});
  Function f;
  ValueId x = f.add_input({float32, {8}});
  for (const Mesh& m : {all, reversed, last})
    x = add(f, sharding_constraint_op,
            ShardingConstraintParams{NamedSharding(m, P(m.axis_names()[0]))}, {x});
  f.outputs = {x};
  const std::string text = round_trip(f);
  EXPECT_THAT(text, HasSubstr("sdy.mesh @mesh = <[\"x\"=8]>\n"));
  EXPECT_THAT(text,
              HasSubstr("sdy.mesh @mesh_0 = <[\"r\"=8], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>\n"));
  EXPECT_THAT(
      text, HasSubstr("sdy.mesh @mesh_1 = <[\"l\"=2]> {tessera.device_ids = array<i64: 6, 7>}\n"));
  initialize({});
}

}  // namespace
}  // namespace tessera::printer_test
