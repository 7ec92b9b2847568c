// Programs for the tests of propagation and partition: traced, partitioned, and compared with their
// unsharded values.
#pragma once

#include <gtest/gtest.h>

#include "tessera/sharding/merge_equal_ops.h"
#include "tessera/spmd/partition.h"
#include "tessera/trace/trace.h"
#include "tests/ops/host_executor.h"
#include "tests/sharding/passes.h"
#include "tests/spmd/shards.h"

namespace tessera {

using namespace spmd;

// Eight devices along "x".
inline const Mesh& eight() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({8}, {"x"}));
  return mesh;
}

struct Input {
  Shape shape;
  std::optional<PartitionSpec> spec = std::nullopt;  // if empty, it is free
  DType dtype = float32;
};

// Returns the partitioned program of `body`. Checks that its values on every device are those of
// the whole program.
inline Partitioned partition_and_check(
    const Mesh& mesh, const std::vector<Input>& inputs, const FlatFn& body,
    const std::vector<std::optional<PartitionSpec>>& outputs = {}, double tolerance = 1e-5) {
  std::vector<Type> types;
  ShardingRequest request;
  std::vector<Literal> values;
  std::mt19937 rng(3);
  for (const Input& input : inputs) {
    types.push_back({input.dtype, input.shape});
    request.inputs.push_back(input.spec ? std::optional(NamedSharding(mesh, *input.spec))
                                        : std::nullopt);
    values.push_back(testing_ops::random_literal(types.back(), rng));
  }
  const TracedFunction traced = trace_function(body, types);
  EXPECT_TRUE(traced.captures.empty());
  for (const auto& spec : outputs)
    request.outputs.push_back(spec ? std::optional(NamedSharding(mesh, *spec)) : std::nullopt);
  request.outputs.resize(traced.function.outputs.size());
  const Mesh program = program_mesh(traced.function, request);
  const Function merged = remove_dead_ops(merge_equal_ops(traced.function));
  Partitioned p = partition(propagated_program(merged, program, request), program);
  std::vector<DeviceLiterals> shards;
  for (size_t k = 0; k < values.size(); ++k)
    shards.push_back(split_into_shards(values[k], p.inputs[k], p.mesh));
  const std::vector<DeviceLiterals> results = evaluate_spmd(p.function, shards, p.mesh);
  const std::vector<Literal> expected = evaluate(traced.function, values);
  for (size_t r = 0; r < results.size(); ++r)
    EXPECT_EQ(compare_shards(results[r], split_into_shards(expected[r], p.outputs[r], p.mesh),
                             p.outputs[r], expected[r].shape(), tolerance),
              "")
        << "output " << r << " as " << p.outputs[r].spec();
  return p;
}

// Returns the collectives, in order: "all_reduce x; all_gather y".
inline std::string communication(const Partitioned& p) {
  std::string out;
  for (const Collective& c : p.collectives) {
    if (!out.empty()) out += "; ";
    out += c.name;
    for (const std::string& axis : c.axes) out += " " + axis;
  }
  return out;
}
inline int64_t bytes_sent(const Partitioned& p) {
  int64_t n = 0;
  for (const Collective& c : p.collectives) n += c.bytes_per_device;
  return n;
}

}  // namespace tessera
