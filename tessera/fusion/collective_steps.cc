#include "tessera/fusion/collective_steps.h"

#include <algorithm>

#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/collectives/collectives_groups.h"

namespace tessera::fusion {
namespace {

AxisList with(AxisList axes, const AxisList& more) {
  for (int a : more)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) axes.push_back(a);
  return axes;
}

AxisList without(AxisList axes, const AxisList& fewer) {
  std::erase_if(axes,
                [&](int a) { return std::find(fewer.begin(), fewer.end(), a) != fewer.end(); });
  return axes;
}

// The axes of `over` along which what a permutation gives differs: where ranks that differ along no
// other axis have different shards. A new order of devices leaves shards that lie along fewer axes
// than it runs over.
AxisList permuted_axes(const CollectiveInfo& info, const Mesh& mesh, const AxisList& over,
                       const AxisList& operand_axes) {
  const std::vector<int32_t> shard_of =
      instance_map(mesh, over, without(over, without(over, operand_axes)));
  std::vector<int32_t> received(shard_of.size(), -1);  // the shard a rank has; zeros from none
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

AxisList collective_result_axes(const Op& op, const Mesh& mesh, const AxisList& operand_axes) {
  const CollectiveInfo info = collective_info(op);
  const AxisList over = collective_axes(op, mesh);
  switch (info.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kBroadcast:
      // Groups may have different results.
      return info.groups.size() <= 1 ? without(operand_axes, over) : with(operand_axes, over);
    case CollectiveKind::kPermute:
      return with(without(operand_axes, over), permuted_axes(info, mesh, over, operand_axes));
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kRaggedAllToAll:
      return with(operand_axes, over);
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
  if (info.kind == CollectiveKind::kRaggedAllToAll) {
    // Operands: data, output, input_offsets, send_sizes, output_offsets, recv_sizes.
    step.sizes.assign(in.begin() + 2, in.end());
    step.sizes.push_back(in[1]);
  }
  return step;
}

InstanceTableStep axis_index_step(const GraphOp& op, const Mesh& mesh, const AxisList& axes,
                                  int out) {
  InstanceTableStep step{.out = out};
  const int64_t instances = axes_size(mesh, axes);
  for (int64_t i = 0; i < instances; ++i) {
    int64_t rest = i, rank = 0, stride = 1;
    std::vector<int64_t> coordinate(mesh.axis_sizes().size(), 0);
    for (size_t k = axes.size(); k-- > 0;) {
      coordinate[axes[k]] = rest % mesh.axis_sizes()[axes[k]];
      rest /= mesh.axis_sizes()[axes[k]];
    }
    for (size_t k = op.over.size(); k-- > 0;) {
      rank += stride * coordinate[op.over[k]];
      stride *= mesh.axis_sizes()[op.over[k]];
    }
    step.values.push_back(Literal::scalar(static_cast<int32_t>(rank)));
  }
  return step;
}

}  // namespace tessera::fusion
