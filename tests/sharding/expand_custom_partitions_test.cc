#include "tessera/sharding/expand_custom_partitions.h"

#include "tessera/ir/op_def.h"
#include "tessera/ops/control/custom_partitioning.h"
#include "tests/errors.h"
#include "tests/pass_text.h"
#include "tests/sharding/passes.h"

namespace tessera::expand_custom_partitions_test {

using namespace interchange;
using namespace ops;

namespace {

using test::expect_error;

// What a partitioner answers: the computation of one device, as text, and the shardings.
struct Answer {
  std::string body;
  PartitionSpec operand, result;
};

// Registers a partitioner that gives this answer.
void answer(const Answer& with) {
  set_custom_partitioner("test.answer",
                         [with](const std::string& config, const Mesh& mesh,
                                std::span<const Type> operands, std::span<const Type> results) {
                           EXPECT_EQ(config, "17");
                           EXPECT_EQ(operands[0].shape, (Shape{8, 16}));
                           EXPECT_TRUE(operands[0].sharding && results[0].sharding);
                           CustomPartition out;
                           out.body = std::make_shared<const Function>(parse_mlir(with.body));
                           out.operands.emplace_back(mesh, with.operand);
                           out.results.emplace_back(mesh, with.result);
                           return out;
                         });
}

// Returns the program of one call, whose array is sharded by rows, after the expansion.
Function expanded() {
  const ParsedModule module = parse_module(R"(
module {
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x16xf32>) {
  %0 = stablehlo.custom_call @test.answer(%arg0) {backend_config = "17", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=16}, custom>} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
})");
  const ShardingRequest request{module.input_shardings, module.output_shardings};
  return propagated_program(module.main, program_mesh(module.main, request), request);
}

std::string sine_of(std::string_view type) {
  return fmt::format(
      "func.func public @main(%arg0: tensor<{0}>) -> (tensor<{0}>) {{\n"
      "  %0 = stablehlo.sine %arg0 : tensor<{0}>\n  return %0 : tensor<{0}>\n}}",
      type);
}

TEST(ExpandCustomPartitions, TheFunctionOfADeviceStandsBetweenBorders) {
  answer({sine_of("4x16xf32"), P("x", None), P("x", None)});
  const Function f = expanded();
  verify(f);
  ASSERT_EQ(f.ops.size(), 3U);
  EXPECT_EQ(f.ops[0].def->name, "full_to_shard");
  EXPECT_EQ(f.ops[1].def->name, "sine");
  EXPECT_EQ(f.ops[2].def->name, "shard_to_full");
  EXPECT_EQ(f.type(f.ops[1].results[0]).shape, (Shape{4, 16}));
  EXPECT_TRUE(f.type(f.ops[1].results[0]).sharding->is_fully_replicated());
  EXPECT_EQ(f.type(f.outputs[0]).sharding->spec(), P("x"));
}

TEST(ExpandCustomPartitions, TheValueKeepsItsShardingIfThePartitionerWantsAnother) {
  answer({sine_of("8x4xf32"), P(None, "y"), P(None, "y")});
  const Function f = expanded();
  verify(f);
  EXPECT_EQ(f.type(f.ops[1].results[0]).shape, (Shape{8, 4}));
  EXPECT_EQ(f.type(f.outputs[0]).sharding->spec(), P("x"));
}

TEST(ExpandCustomPartitions, AnswersThatDoNotFitAreErrors) {
  answer({sine_of("8x16xf32"), P("x", None), P("x", None)});
  expect_error([] { expanded(); },
               "[custom_partitioning] expected the function of one device to have operand 0 of "
               "float32[4,16]");
  answer({sine_of("8x16xf32"), P(), P("x")});
  expect_error([] { expanded(); }, "to have result 0 of float32[4,16]");
  answer({sine_of("8x16xf32"), P("x", None, "y"), P("x")});
  expect_error([] { expanded(); }, "[custom_partitioning] expected");
  set_custom_partitioner("test.answer", [](const std::string&, const Mesh&, std::span<const Type>,
                                           std::span<const Type>) {
    return CustomPartition{
        std::make_shared<const Function>(parse_mlir(sine_of("8x16xf32"))), {}, {}};
  });
  expect_error([] { expanded(); },
               "expected the partitioner to return a sharding of each of the 1 operands and a "
               "function of these, got 0 shardings and a function of 1");
  set_custom_partitioner("test.answer", [](const std::string&, const Mesh&, std::span<const Type>,
                                           std::span<const Type>) {
    const NamedSharding other(Mesh::abstract({8}, {"z"}), P("z"));
    return CustomPartition{
        std::make_shared<const Function>(parse_mlir(sine_of("1x16xf32"))), {other}, {other}};
  });
  expect_error([] { expanded(); },
               "expected the partitioner to return shardings on the program's mesh");
}

}  // namespace
}  // namespace tessera::expand_custom_partitions_test
