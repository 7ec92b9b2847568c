// Every op of the registry is cut along every factor: the partitioned program computes the same as
// the whole one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/control/manual_boundary.h"
#include "tessera/sharding/projection.h"
#include "tessera/sharding/propagate.h"
#include "tessera/spmd/partition.h"
#include "tests/ops/host_executor.h"
#include "tests/sharding/passes.h"
#include "tests/spmd/shards.h"

namespace tessera::partition_ops_test {

using namespace spmd;

namespace {

std::string label(const OpDef& def, const Sample& sample) {
  std::string text(def.name);
  for (const Type& t : sample.operands) text += " " + describe(t);
  return text;
}

// Returns whether samples of the op are programs for one device that can be sharded. Samples of
// constraints and manual computations have meshes of their own.
bool is_ordinary(const OpDef& def) {
  return def.samples && !std::holds_alternative<CollectiveLowering>(def.lower) &&
         !std::holds_alternative<Constraint>(def.lower) &&
         !std::holds_alternative<ManualRegion>(def.lower) &&
         !std::holds_alternative<ManualBorder>(def.lower);
}

Function one_op(const OpDef& def, const Sample& sample) {
  Function f;
  ValueIds operands;
  for (const Type& t : sample.operands) operands.push_back(f.add_input(t));
  const std::vector<Type> results = infer_types(def, sample.operands, sample.params);
  for (ValueId v : f.add_op(def, sample.params, operands, results)) f.outputs.push_back(v);
  return f;
}

double tolerance_of(DType dtype) {
  switch (itemsize(is_complex(dtype) ? dtype == complex64 ? float32 : float64 : dtype)) {
    case 2:
      return 0.05;
    case 8:
      return 1e-9;
    default:
      return 1e-4;
  }
}

// Runs `f` under the request. Returns how a device's shard of a result differs from the unsharded
// value; "" if none does.
std::string run(const Function& f, const Mesh& mesh, const ShardingRequest& request,
                const std::vector<Literal>& operands, const std::vector<Literal>& expected) {
  const Function propagated = propagated_program(f, mesh, request);
  const Partitioned p = partition(propagated, mesh);
  std::vector<DeviceLiterals> inputs;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (request.inputs[k] && !(*request.inputs[k] == p.inputs[k]))
      return "an input lies elsewhere than asked";
    inputs.push_back(split_into_shards(operands[k], p.inputs[k], p.mesh));
  }
  const std::vector<DeviceLiterals> results = evaluate_spmd(p.function, inputs, p.mesh);
  for (size_t r = 0; r < results.size(); ++r) {
    const std::string error =
        compare_shards(results[r], split_into_shards(expected[r], p.outputs[r], p.mesh),
                       p.outputs[r], expected[r].shape(), tolerance_of(expected[r].dtype()));
    if (!error.empty()) return fmt::format("result {} as {}: {}", r, p.outputs[r].spec(), error);
  }
  return {};
}

// Calls visit with shardings of one dimension by all axes, in order.
void for_each_cut(const Mesh& mesh, int64_t rank, auto visit) {
  for (int64_t d = 0; d < rank; ++d) {
    std::vector<DimSpec> dims(rank);
    std::vector<AxisRef> axes;
    for (const std::string& name : mesh.axis_names()) axes.push_back({name});
    dims[d] = DimSpec(axes);
    visit(NamedSharding(mesh, PartitionSpec(dims)));
    if (mesh.rank() > 1 && rank > 1) {  // also two dimensions by one axis each
      dims[d] = DimSpec(axes[0]);
      dims[(d + 1) % rank] = DimSpec(axes[1]);
      visit(NamedSharding(mesh, PartitionSpec(dims)));
    }
  }
}

const std::vector<Mesh>& meshes() {
  static const std::vector<Mesh>& all = *new std::vector<Mesh>{
      Mesh::abstract({2}, {"x"}), Mesh::abstract({8}, {"x"}), Mesh::abstract({2, 4}, {"x", "y"})};
  return all;
}

class PartitionOps : public testing::TestWithParam<const OpDef*> {};

TEST_P(PartitionOps, EveryCutOfEveryOperandAndResult) {
  const OpDef& def = *GetParam();
  std::mt19937 rng(11);
  for (const Sample& sample : def.samples()) {
    SCOPED_TRACE(label(def, sample));
    const std::vector<Literal> operands = testing_ops::sample_operands(sample, rng);
    const Function f = one_op(def, sample);
    const std::vector<Literal> expected = evaluate(f, operands);
    for (const Mesh& mesh : meshes()) {
      ShardingRequest request;
      request.inputs.resize(f.inputs.size());
      request.outputs.resize(f.outputs.size());
      auto check = [&](std::string_view what, const NamedSharding& s) {
        try {
          const std::string error = run(f, mesh, request, operands, expected);
          EXPECT_EQ(error, "") << what << " cut as " << s << " of " << mesh;
        } catch (const std::exception& e) {
          ADD_FAILURE() << what << " cut as " << s << ": " << e.what();
        }
      };
      for (size_t k = 0; k < f.inputs.size(); ++k)
        for_each_cut(mesh, sample.operands[k].rank(), [&](const NamedSharding& s) {
          request.inputs[k] = s;
          check(fmt::format("operand {}", k), s);
          request.inputs[k].reset();
        });
      for (size_t r = 0; r < f.outputs.size(); ++r)
        for_each_cut(mesh, expected[r].shape().rank(), [&](const NamedSharding& s) {
          request.outputs[r] = s;
          check(fmt::format("result {}", r), s);
          request.outputs[r].reset();
        });
    }
  }
}

// All operands and results have different shardings, so each of them must be resharded.
TEST_P(PartitionOps, ConflictingCuts) {
  const OpDef& def = *GetParam();
  std::mt19937 rng(12);
  const Mesh& mesh = meshes()[2];
  for (const Sample& sample : def.samples()) {
    SCOPED_TRACE(label(def, sample));
    const std::vector<Literal> operands = testing_ops::sample_operands(sample, rng);
    const Function f = one_op(def, sample);
    const std::vector<Literal> expected = evaluate(f, operands);
    for (int round = 0; round < 3; ++round) {
      ShardingRequest request;
      std::string what;
      auto any = [&](int64_t rank) {
        std::vector<DimSpec> dims(rank);
        for (const char* axis : {"x", "y"})
          if (rank > 0) {
            const size_t d = rng() % (rank + 1);
            if (d < dims.size())
              dims[d] = dims[d].axes.empty() ? DimSpec(AxisRef{axis})
                                             : DimSpec(std::vector<AxisRef>{{"x"}, {"y"}});
          }
        const NamedSharding s(mesh, PartitionSpec(dims));
        what += fmt::format("{} ", s.spec());
        return s;
      };
      for (const Literal& x : operands) request.inputs.push_back(any(x.shape().rank()));
      for (const Literal& x : expected) request.outputs.push_back(any(x.shape().rank()));
      try {
        const std::string error = run(f, mesh, request, operands, expected);
        EXPECT_EQ(error, "") << what;
      } catch (const std::exception& e) {
        ADD_FAILURE() << what << e.what();
      }
    }
  }
}

std::vector<const OpDef*> ordinary_ops() {
  std::vector<const OpDef*> out;
  for (const OpDef* def : all_ops())
    if (is_ordinary(*def)) out.push_back(def);
  return out;
}
INSTANTIATE_TEST_SUITE_P(Registry, PartitionOps, testing::ValuesIn(ordinary_ops()),
                         [](const testing::TestParamInfo<const OpDef*>& info) {
                           return fmt::format("{}_{}", info.param->dialect, info.param->name);
                         });

}  // namespace
}  // namespace tessera::partition_ops_test
