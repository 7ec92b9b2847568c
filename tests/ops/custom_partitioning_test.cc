#include "tessera/ops/control/custom_partitioning.h"

#include "tessera/interchange/text/parser.h"
#include "tessera/interchange/text/printer.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/control/partitioned_callback.h"
#include "tests/errors.h"

namespace tessera::custom_partitioning_test {

using namespace interchange;
using namespace ops;

namespace {

using test::expect_error;

CustomPartition nothing(const std::string&, const Mesh&, std::span<const Type>,
                        std::span<const Type>) {
  return {};
}

// Returns the custom_partitioning op that a custom_call with this rule becomes.
Op call_with(const std::string& rule, std::string_view signature) {
  set_custom_partitioner("test.nothing", nothing);
  const std::string attribute = rule.empty() ? "" : ", sdy.sharding_rule = " + rule;
  const Function f = parse_mlir(fmt::format(
      R"(
func.func public @main(%arg0: tensor<8x6xf32>, %arg1: tensor<6x4xf32>) -> (tensor<8x4xf32>) {{
  %0 = stablehlo.custom_call @test.nothing(%arg0, %arg1) {{api_version = 2 : i32, backend_config = "17", has_side_effect = false{}}} : {}
  return %0 : tensor<8x4xf32>
}})",
      attribute, signature));
  return f.ops.at(0);
}

constexpr std::string_view kSignature = "(tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>";

std::string factors_with(const std::string& rule) {
  const Op op = call_with(rule, kSignature);
  const std::vector<Type> operands{{float32, {8, 6}}, {float32, {6, 4}}},
      results{{float32, {8, 4}}};
  return to_string(op.def->factors(operands, results, op.params));
}

TEST(CustomPartitioning, TheRuleSaysHowDimensionsCorrespond) {
  EXPECT_EQ(factors_with("#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=4, k=6} "
                         "reduction={k}, custom>"),
            "([i, k], [k, j])->([i, j]) {i=8, j=4, k=6} reduction={k}");
  EXPECT_EQ(factors_with("#sdy.op_sharding_rule<([ij, k], [l, m])->([ij, m]) {i=2, j=4, k=6, l=6, "
                         "m=4} need_replication={k, l} permutation={m}, custom>"),
            "([ij, k], [l, m])->([ij, m]) {i=2, j=4, k=6, l=6, m=4} need_replication={k, l} "
            "permutation={m}");
}

TEST(CustomPartitioning, WithoutARuleNothingCorresponds) {
  EXPECT_EQ(factors_with(""), "([i, j], [k, l])->([m, n]) {i=8, j=6, k=6, l=4, m=8, n=4}");
}

TEST(CustomPartitioning, TextRoundTrips) {
  const std::string rule =
      "#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=4, k=6} reduction={k}, custom>";
  Function f;
  const ValueId x = f.add_input({float32, {8, 6}}), y = f.add_input({float32, {6, 4}});
  const Op op = call_with(rule, kSignature);
  const std::vector<Type> types = infer_types(*op.def, f.types_of(ValueIds{x, y}), op.params);
  f.outputs = {f.add_op(*op.def, op.params, {x, y}, types)[0]};
  const std::string text = to_mlir(f);
  EXPECT_EQ(to_mlir(parse_mlir(text)), text);
}

TEST(CustomPartitioning, RulesThatDoNotFitAreErrors) {
  const auto factors = [](const char* rule) { return [=] { factors_with(rule); }; };
  expect_error(
      factors("#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=4, k=3}, custom>"),
      "[custom_partitioning] expected the sharding rule to have factors of a dimension of 6, "
      "got 3; write one factor for each dimension");
  expect_error(factors("#sdy.op_sharding_rule<([i, k])->([i, j]) {i=8, j=4, k=6}, custom>"),
               "expected a sharding rule of 2 operands and 1 results, got one of 1 and 1");
  expect_error(factors("#sdy.op_sharding_rule<([i, k], [k])->([i, j]) {i=8, j=4, k=6}, custom>"),
               "[custom_partitioning] expected");
  expect_error(factors("#sdy.op_sharding_rule<([a, k], [k, j])->([a, j]) {j=4, k=6}, custom>"),
               "expected factors i to z, z_1, z_2");
  expect_error(factors("#sdy.op_sharding_rule<([i, k], [k, j])->([i, l]) {i=8, j=4, k=6}, custom>"),
               "[custom_partitioning] expected factors 0 to 2 in the sharding rule, got 3");
}

TEST(CustomPartitioning, PartitionersAreFoundByName) {
  EXPECT_FALSE(has_custom_partitioner("test.unknown"));
  expect_error(
      [] { find_custom_partitioner("test.unknown"); },
      "[custom_partitioning] expected a partitioner that is registered in this process, got "
      "'test.unknown'; compile the program in the process that traced it");
}

TEST(CustomPartitioning, APartitionedCallbackHasATokenAndAnEffect) {
  const CustomPartitioningParams p = partitioned_callback_params(3);
  const OpParams params = p;
  const std::vector<Type> operands{{float32, {8}}};
  EXPECT_EQ(infer_types(custom_partitioning_effect_op, operands, params)[0].shape, (Shape{0}));
  EXPECT_TRUE(custom_partitioning_effect_op.effect);
}

}  // namespace
}  // namespace tessera::custom_partitioning_test
