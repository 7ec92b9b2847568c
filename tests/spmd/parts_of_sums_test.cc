#include "tessera/spmd/parts_of_sums.h"

#include "tessera/control/shard_map_trace.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/reshape.h"
#include "tests/spmd/programs.h"

namespace tessera::parts_of_sums_test {

using namespace spmd;

namespace {

using namespace array_math;
using Arrays = std::vector<Array>;

const Mesh& mesh24() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({2, 4}, {"x", "y"}));
  return mesh;
}

// Returns the value in parts over the axes, one for each index of a new first dimension.
Array parts_of(const Array& value, const std::vector<std::string>& axes) {
  const auto part = [&](const Arrays& x) -> Arrays {
    const Array own = bind_op1(ops::replicated_to_unreduced_op, ops::to_unreduced(mesh24(), axes),
                               {lax::pcast_varying(x[0], axes)});
    Shape shape = own.shape();
    shape.insert(shape.begin(), 1);
    return {lax::reshape(own, shape)};
  };
  const auto out_specs = [&](std::span<const Array>) -> std::vector<PartitionSpec> {
    std::vector<AxisRef> refs;
    for (const std::string& axis : axes) refs.push_back({.name = axis});
    return {PartitionSpec(std::vector<DimSpec>{DimSpec(std::move(refs))})};
  };
  return control::shard_map_flat(part,
                                 {.mesh = mesh24(),
                                  .in_specs = {PartitionSpec()},
                                  .out_specs = out_specs,
                                  .manual_axes = axes},
                                 Arrays{value})[0];
}

// Partitions a program whose results are arrays of parts. Checks that the parts on the devices add
// up to `whole` of the same arguments.
Partitioned partition_parts(const std::vector<Input>& inputs, const FlatFn& parts,
                            const FlatFn& whole) {
  std::vector<Type> types;
  ShardingRequest request;
  std::vector<Literal> values;
  std::mt19937 rng(3);
  for (const Input& input : inputs) {
    types.push_back({input.dtype, input.shape});
    request.inputs.push_back(NamedSharding(mesh24(), *input.spec));
    values.push_back(testing_ops::random_literal(types.back(), rng));
  }
  const TracedFunction traced = trace_function(parts, types);
  request.outputs.resize(traced.function.outputs.size());
  const Mesh program = program_mesh(traced.function, request);
  Partitioned p = partition(propagated_program(traced.function, program, request), program);
  std::vector<DeviceLiterals> shards;
  for (size_t k = 0; k < values.size(); ++k)
    shards.push_back(split_into_shards(values[k], p.inputs[k], p.mesh));
  const std::vector<DeviceLiterals> results = evaluate_spmd(p.function, shards, p.mesh);
  const std::vector<Literal> expected = evaluate(trace_function(whole, types).function, values);
  // Sums what the devices hold: those along other axes than the parts' hold other rows or the same.
  for (size_t r = 0; r < results.size(); ++r) {
    const NamedSharding& sharding = p.outputs[r];
    const int64_t n = sharding.num_shards(0);
    std::vector<double> sum(static_cast<size_t>(expected[r].elements()), 0);
    const int64_t copies = program.size() / n;
    for (const Literal& part : results[r])
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += static_cast<double>(part.data<float>()[i]) / static_cast<double>(copies);
    for (size_t i = 0; i < sum.size(); ++i)
      EXPECT_NEAR(sum[i], expected[r].data<float>()[i], 1e-4) << "element " << i;
  }
  return p;
}

TEST(PartsOfSums, AProductOverShardedDimensionsSendsNothing) {
  const auto product = [](const Arrays& x) { return lax::dot_general(x[0], x[1], {{1}, {0}}); };
  const Partitioned p = partition_parts(
      {{{6, 8}, P(None, "y")}, {{8, 5}, P("y")}},
      [&](const Arrays& x) { return Arrays{parts_of(product(x), {"y"})}; },
      [&](const Arrays& x) { return Arrays{product(x)}; });
  EXPECT_EQ(communication(p), "");
}

TEST(PartsOfSums, WhatIsLinearInTheSumIsComputedOnParts) {
  const auto f = [](const Arrays& x) {
    const Array sum = lax::reduce_sum(x[0], {0}) - lax::reduce_sum(x[1], {0});
    return lax::transpose(lax::reshape(-(sum * 2.0f), {2, 3}), {1, 0});
  };
  const Partitioned p = partition_parts(
      {{{8, 6}, P("y")}, {{4, 6}, P("y")}},
      [&](const Arrays& x) { return Arrays{parts_of(f(x), {"y"})}; },
      [&](const Arrays& x) { return Arrays{f(x)}; });
  EXPECT_EQ(communication(p), "");
}

TEST(PartsOfSums, TheRestOfTheAxesIsSummed) {
  const auto sum = [](const Arrays& x) { return lax::reduce_sum(x[0], {0}); };
  const Partitioned p = partition_parts(
      {{{16, 6}, P(DimSpec(std::vector<AxisRef>{{.name = "x"}, {.name = "y"}}))}},
      [&](const Arrays& x) { return Arrays{parts_of(sum(x), {"y"})}; },
      [&](const Arrays& x) { return Arrays{sum(x)}; });
  EXPECT_EQ(communication(p), "all_reduce x");
}

TEST(PartsOfSums, RowsOfAShardedArrayStayWhereTheyAre) {
  const auto twice = [](const Arrays& x) { return x[0] + x[0]; };
  const Partitioned p = partition_parts(
      {{{8, 6}, P("y")}}, [&](const Arrays& x) { return Arrays{parts_of(twice(x), {"y"})}; },
      [&](const Arrays& x) { return Arrays{twice(x)}; });
  EXPECT_EQ(communication(p), "");
}

// The first device has all of it.
TEST(PartsOfSums, WhatIsNotASumIsWholeOnOneDevice) {
  const auto f = [](const Arrays& x) {
    const Array sum = lax::reduce_sum(x[0], {0});
    return sum * sum;
  };
  const Partitioned p = partition_parts(
      {{{8, 6}, P("y")}}, [&](const Arrays& x) { return Arrays{parts_of(f(x), {"y"})}; },
      [&](const Arrays& x) { return Arrays{f(x)}; });
  EXPECT_EQ(communication(p), "all_reduce y");
}

// A sum that is needed whole as well is computed once.
TEST(PartsOfSums, OfASumThatIsReadTwice) {
  const auto f = [](const Arrays& x, bool parts) {
    const Array sum = lax::reduce_sum(x[0], {0});
    return Arrays{parts ? parts_of(sum, {"y"}) : sum,
                  parts ? parts_of(lax::sin(sum), {"y"}) : lax::sin(sum)};
  };
  const Partitioned p = partition_parts(
      {{{8, 6}, P("y")}}, [&](const Arrays& x) { return f(x, true); },
      [&](const Arrays& x) { return f(x, false); });
  EXPECT_EQ(communication(p), "all_reduce y");
}

}  // namespace
}  // namespace tessera::parts_of_sums_test
