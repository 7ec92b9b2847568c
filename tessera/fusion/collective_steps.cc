#include "tessera/fusion/collective_steps.h"

#include <fmt/ranges.h>

#include "tessera/base/contains.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/collectives/collectives_groups.h"

namespace tessera::fusion {
namespace {

AxisList without(AxisList axes, const AxisList& fewer) {
  std::erase_if(axes, [&](int a) { return contains(fewer, a); });
  return axes;
}

// Returns the axes of `over` along which the result of a permutation differs. Ranks whose
// coordinates differ along no other axis of the operand have the same shard. After a change of the
// order of devices, shards vary over fewer axes than the permutation runs over.
AxisList permuted_axes(const CollectiveInfo& info, const Mesh& mesh, const AxisList& over,
                       const AxisList& operand_axes) {
  const std::vector<int32_t> shard_of =
      instance_map(mesh, over, without(over, without(over, operand_axes)));
  std::vector<int32_t> received(shard_of.size(), -1);  // the shard that each rank gets; -1: zeros
  for (const Dims& pair : info.pairs)
    received[static_cast<size_t>(pair[1])] = shard_of[static_cast<size_t>(pair[0])];
  AxisList out;
  int64_t stride = 1;
  for (size_t k = over.size(); k-- > 0;) {
    const int64_t size = mesh.axis_sizes()[over[k]];
    bool differs = false;
    for (int64_t r = 0; r < static_cast<int64_t>(received.size()); ++r)
      differs = differs || received[r] != received[r - r / stride % size * stride];
    if (differs) out.insert(out.begin(), over[k]);
    stride *= size;
  }
  return out;
}

}  // namespace

AxisList axes_union(AxisList axes, const AxisList& more) {
  for (int a : more)
    if (!contains(axes, a)) axes.push_back(a);
  return axes;
}

AxisList collective_axes(const Op& op, const Mesh& mesh) {
  AxisList out;
  for (const std::string& text : collective_info(op).axes) {
    const AxisRef axis = parse_axis_ref(text);
    const std::string name = fmt::format("{}.{}", op.def->dialect, op.def->name);
    if (!axis.is_whole())
      sharding_error(
          name,
          "expected whole mesh axes, got part '{}'; make the mesh with one axis for each part",
          text);
    out.push_back(static_cast<int>(mesh.axis_index(axis.name)));
  }
  return out;
}

AxisList collective_result_axes(const Op& op, const Mesh& mesh, const AxisList& over,
                                const AxisList& operand_axes) {
  const CollectiveInfo info = collective_info(op);
  switch (info.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kBroadcast:
      // The results of several groups may differ.
      return info.groups.size() <= 1 ? without(operand_axes, over) : axes_union(operand_axes, over);
    case CollectiveKind::kPermute:
      return axes_union(without(operand_axes, over), permuted_axes(info, mesh, over, operand_axes));
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kRaggedAllToAll:
      return axes_union(operand_axes, over);
    case CollectiveKind::kAxisIndex:
      return over;
    case CollectiveKind::kCast:
      return operand_axes;
  }
  TESSERA_CHECK(false, "collective kind");
  return {};
}

CollectiveStep collective_step(const GraphOp& op, std::span<const int> in, int out) {
  const CollectiveInfo info = collective_info(*op.op);
  CollectiveStep step{.kind = info.kind};
  step.over = op.over;
  step.groups = info.groups;
  step.reduce = info.reduce;
  step.dim = info.dim;
  step.concat_dim = info.concat_dim;
  step.pairs = info.pairs;
  step.root = info.root;
  step.in = in[0];
  step.out = out;
  if (op.op->results.size() > 1) step.collective = op.op->results[0];
  step.what = fmt::format("{} over ({}){}{}", op.op->def->name, fmt::join(info.axes, ", "),
                          op.op->source.empty() ? "" : " for ", op.op->source);
  if (info.kind == CollectiveKind::kRaggedAllToAll) {
    // The operands are data, output, input_offsets, send_sizes, output_offsets, recv_sizes.
    step.sizes.assign(in.begin() + 2, in.end());
    step.sizes.push_back(in[1]);
  }
  return step;
}

InstanceTableStep axis_index_step(const GraphOp& op, const Mesh& mesh, const AxisList& axes,
                                  int out) {
  InstanceTableStep step{.out = out};
  for (int32_t rank : instance_map(mesh, axes, op.over))
    step.values.push_back(Literal::scalar(rank));
  return step;
}

}  // namespace tessera::fusion
