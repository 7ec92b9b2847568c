#include "tessera/sharding/expand_custom_partitions.h"

#include <algorithm>

#include "tessera/control/manual_boundary.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/control/custom_partitioning.h"
#include "tessera/sharding/flatten_regions.h"
#include "tessera/sharding/sharded_rewrite.h"

namespace tessera::sharding {
namespace {

using ops::CustomPartition, ops::CustomPartitioningParams, ops::ManualBoundaryParams;

constexpr const char* kOp = "custom_partitioning";

bool has_custom_partition(const Function& f) {
  return std::any_of(f.ops.begin(), f.ops.end(), [](const Op& op) {
    const auto regions = control_regions(op);
    return ops::custom_partitioning_of(op) ||
           std::any_of(regions.begin(), regions.end(),
                       [](const FunctionRef& region) { return has_custom_partition(*region); });
  });
}

// Returns the region for a fully manual computation, in which no value is sharded.
Function without_sharding(const Function& region,
                          const std::shared_ptr<const NamedSharding>& whole) {
  Function out = region;
  for (Type& type : out.types) type.sharding = whole;
  for (Op& op : out.ops)
    op.params = map_control_regions(
        op, [&](const Function& inner) { return without_sharding(inner, whole); });
  return out;
}

DimSpecs specs_of(const NamedSharding& sharding, int64_t rank) {
  DimSpecs out;
  for (int64_t d = 0; d < rank; ++d) out.emplace_back(sharding.dim_axes(d));
  return out;
}

class Expander {
 public:
  explicit Expander(const Function& f) : to_(f) {}

  Function run() {
    for (const Op& op : to_.from().ops) {
      if (const CustomPartitioningParams* params = ops::custom_partitioning_of(op)) {
        expand(op, *params);
      } else {
        to_.append(op, expand_custom_partitions);
      }
    }
    Function out = to_.take();
    // In a program without a mesh no value has a sharding.
    if (whole_ && whole_->mesh().rank() == 0)
      for (Type& type : out.types) type.sharding = nullptr;
    return out;
  }

 private:
  void expand(const Op& op, const CustomPartitioningParams& params) {
    to_.instead_of(op);
    const Mesh& mesh = to_.mesh();
    const std::vector<Type> operands = to_.from().types_of(op.operands),
                            results = to_.from().types_of(op.results);
    const CustomPartition partition =
        ops::find_custom_partitioner(params.partitioner)(params.config, mesh, operands, results);
    const Function body = flatten_regions(*partition.body);
    check(mesh, "operand", operands, partition.operands, body, body.inputs);
    check(mesh, "result", results, partition.results, body, body.outputs);
    whole_ = std::make_shared<const NamedSharding>(mesh, PartitionSpec());
    const AxisEnv::Scope scope(mesh, mesh.axis_names(), /*check_vma=*/false);
    ValueIds values = to_.mapped(op.operands);
    const bool has_borders = mesh.rank() > 0;
    if (has_borders)
      for (size_t k = 0; k < values.size(); ++k)
        values[k] = to_.add(ops::full_to_shard_op,
                            border(partition.operands[k], operands[k].rank()), {values[k]}, {});
    values = append_ops(body, values, [&](const Op& inner, ValueIds mapped) {
      return add_inner(inner, std::move(mapped));
    });
    for (size_t r = 0; r < results.size(); ++r) {
      ValueId& result = to_.at(op.results[r]) = values[r];
      if (!has_borders) continue;
      const int64_t rank = results[r].rank();
      result = to_.add(ops::shard_to_full_op, border(partition.results[r], rank), {values[r]},
                       specs_of(*results[r].sharding, rank));
    }
  }

  // Adds an op of the body. Its types vary over the axes that its operands vary over here.
  ValueIds add_inner(const Op& inner, ValueIds operands) {
    std::vector<Type> types;
    for (ValueId v : operands) types.push_back(to_.type(v));
    Op typed = inner;
    typed.params = retyped_params(*inner.def, types, inner.params);
    const auto sharding = whole_->mesh().rank() > 0 ? whole_ : nullptr;
    OpParams params = map_control_regions(
        typed, [&](const Function& region) { return without_sharding(region, sharding); });
    return to_.add_all(*inner.def, std::move(params), std::move(operands), {});
  }

  OpParams border(const NamedSharding& sharding, int64_t rank) const {
    return ManualBoundaryParams{to_.mesh(), PartitionSpec(specs_of(sharding, rank)),
                                to_.mesh().axis_names()};
  }

  static void check(const Mesh& mesh, const char* what, std::span<const Type> types,
                    std::span<const NamedSharding> shardings, const Function& body,
                    const auto& values) {
    if (shardings.size() != types.size() || values.size() != types.size())
      value_error(
          kOp,
          "expected the partitioner to return a sharding of each of the {} {}s and a function "
          "of these, got {} shardings and a function of {}; correct `partition`",
          types.size(), what, shardings.size(), values.size());
    for (size_t i = 0; i < types.size(); ++i) {
      const NamedSharding& sharding = shardings[i];
      if (!(sharding.mesh() == mesh))
        sharding_error(kOp,
                       "expected the partitioner to return shardings on the program's mesh {}, got "
                       "{} of {} {} on {}; build them from the mesh that `partition` gets",
                       mesh, sharding.spec(), what, i, sharding.mesh());
      check_rank(kOp, sharding, types[i].shape);
      for (int64_t d = 0; d < types[i].rank(); ++d)
        if (types[i].shape[d] % sharding.num_shards(d))
          sharding_error(kOp,
                         "expected the partitioner to shard {} {} evenly, got {} of {}; leave "
                         "dimension {} whole",
                         what, i, sharding.spec(), describe(types[i]), d);
      const Type& part = body.type(values[i]);
      const Type wanted{.dtype = types[i].dtype, .shape = sharding.shard_shape(types[i].shape)};
      if (part.dtype != wanted.dtype || !(part.shape == wanted.shape))
        shape_error(
            kOp,
            "expected the function of one device to have {} {} of {}, as the sharding {} of "
            "{} says, got {}; correct `partition`",
            what, i, describe(wanted), sharding.spec(), describe(types[i]), describe(part));
    }
  }

  ShardedRewrite to_;
  std::shared_ptr<const NamedSharding> whole_;
};

}  // namespace

Function expand_custom_partitions(const Function& function) {
  return has_custom_partition(function) ? Expander(function).run() : function;
}

}  // namespace tessera::sharding
