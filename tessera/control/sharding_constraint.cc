// sdy.sharding_constraint (control/control.h).
#include <algorithm>

#include "tessera/control/control.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/op.h"

namespace tessera::ops {
namespace {

std::vector<Type> infer_constraint(std::span<const Type> operands,
                                   const ShardingConstraintParams& p) {
  expect_operands("sharding_constraint", operands, 1);
  check_rank("sharding_constraint", p.sharding, operands[0].shape);
  const AxisNames& manual = AxisEnv::current().manual_axes();
  for (const std::string& axis : axes_of(p.sharding.spec()))
    if (std::find(manual.begin(), manual.end(), axis) != manual.end())
      sharding_error("sharding_constraint",
                     "expected axes that are not manual here, got '{}' in {}; inside shard_map "
                     "only the axes it leaves "
                     "automatic can be constrained",
                     axis, p.sharding.spec());
  return {operands[0]};
}

std::vector<Literal> evaluate_identity(std::span<const Literal> x,
                                       const ShardingConstraintParams&) {
  return {x[0]};
}

Factors constraint_factors(std::span<const Type> operands, std::span<const Type> results,
                           const ShardingConstraintParams&) {
  return pointwise_factors(operands, results);
}

// Tangents and cotangents get the sharding of the value.
JvpResult jvp_constraint(std::span<const Array> x, std::span<const Array> t,
                         const ShardingConstraintParams& p) {
  return {{bind_op1(sharding_constraint_op, p, {x[0]})},
          {t[0].defined() ? bind_op1(sharding_constraint_op, p, {t[0]}) : Array()}};
}
std::vector<Array> transpose_constraint(std::span<const Array> ct, std::span<const Array>,
                                        const std::vector<bool>&,
                                        const ShardingConstraintParams& p) {
  return {ct[0].defined() ? bind_op1(sharding_constraint_op, p, {ct[0]}) : Array()};
}
// The mapped dimension is sharded along vmap's spmd axes; if there are none, propagation decides.
// If mesh axes do not divide a dimension of one example, the user meant them for the mapped
// dimension; BatchAxis::indivisible says what happens to them.
BatchResult batch_constraint(std::span<const Array> x, std::span<const int> dims,
                             const ShardingConstraintParams& p) {
  const BatchAxis& axis = BatchAxis::current();
  const Mesh& mesh = p.sharding.mesh();
  std::vector<DimSpec> entries = p.sharding.spec().dims();
  DimSpec mapped = UNCONSTRAINED;
  if (!axis.spmd_axes.empty()) {
    mapped = DimSpec();
    for (const std::string& name : axis.spmd_axes) mapped.axes.push_back(AxisRef{name});
  }
  for (size_t d = 0; d < entries.size(); ++d) {
    const int64_t shards = p.sharding.num_shards(static_cast<int64_t>(d));
    const int64_t example_dim =
        static_cast<int64_t>(d) < dims[0] ? static_cast<int64_t>(d) : static_cast<int64_t>(d) + 1;
    const int64_t extent = x[0].shape()[example_dim];
    if (extent % shards == 0) continue;
    switch (axis.indivisible) {
      case Indivisible::kError:
        sharding_error(
            "vmap",
            "expected dimensions that the axes of a sharding constraint divide, got dimension {} "
            "of one example, {}, under {} on {}; if the constraint is meant for the dimension of "
            "examples pass indivisible = Indivisible::kHoist to vmap, to drop it there "
            "Indivisible::kReplicate, or constrain outside of the mapped function",
            d, extent, p.sharding.spec(), mesh);
      case Indivisible::kHoist:
        mapped.open = false;
        mapped.axes.insert(mapped.axes.end(), entries[d].axes.begin(), entries[d].axes.end());
        break;
      case Indivisible::kReplicate:
        break;
    }
    entries[d] = None;
  }
  while (static_cast<int>(entries.size()) < dims[0]) entries.push_back(None);
  entries.insert(entries.begin() + dims[0], mapped);
  const NamedSharding batched(mesh,
                              PartitionSpec(std::move(entries), p.sharding.spec().replicated()));
  return {{bind_op1(sharding_constraint_op, ShardingConstraintParams{batched}, {x[0]})}, {dims[0]}};
}

std::vector<Sample> constraint_samples() {
  const Mesh mesh = Mesh::abstract({2, 4}, {"x", "y"});
  return {{.operands = {{float32, {8, 4}}},
           .params = ShardingConstraintParams{NamedSharding(mesh, P("x", "y"))}},
          {.operands = {{int32, {8}}},
           .params = ShardingConstraintParams{NamedSharding(mesh, P(joint("y", "x")))}}};
}

double no_flops(std::span<const Type>, std::span<const Type>, const ShardingConstraintParams&) {
  return 0;
}

}  // namespace

const OpDef& sharding_constraint_op = define<ShardingConstraintParams>({
    .name = "sharding_constraint",
    .dialect = "sdy",
    .attributes = {"sharding"},
    .infer = infer_constraint,
    .evaluate = evaluate_identity,
    .factors = constraint_factors,
    .lower = Constraint{},
    .flops = no_flops,
    .jvp = {jvp_constraint},
    .transpose = {transpose_constraint},
    .batch = {batch_constraint},
    .samples = constraint_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array sharding_constraint(const Array& x, const NamedSharding& sharding) {
  return bind_op1(sharding_constraint_op, ShardingConstraintParams{sharding}, {x});
}

}  // namespace tessera::lax
