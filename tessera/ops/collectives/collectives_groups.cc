#include "tessera/ops/collectives/collectives_groups.h"

#include <charconv>
#include <map>

#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives.h"

namespace tessera::ops {
namespace {

// A mesh axis or a part of one: (coordinate / minor) % size is the position along it.
struct AxisPart {
  int64_t mesh_axis, minor, size;
};

std::vector<AxisPart> axis_parts(const Mesh& mesh, const std::vector<std::string>& axes) {
  std::vector<AxisPart> parts;
  for (const std::string& text : axes) {
    const AxisRef ref = parse_axis_ref(text);
    const int64_t index = mesh.axis_index(ref.name), full = mesh.axis_sizes()[index];
    if (ref.is_whole()) {
      parts.push_back({index, 1, full});
      continue;
    }
    if (ref.pre_size < 1 || ref.size < 1 || full % (ref.pre_size * ref.size) != 0)
      sharding_error("collective", "expected a part that divides axis '{}' of size {}, got '{}'",
                     ref.name, full, text);
    parts.push_back({index, full / (ref.pre_size * ref.size), ref.size});
  }
  return parts;
}

}  // namespace

AxisRef parse_axis_ref(std::string_view text) {
  const size_t colon = text.find(":(");
  if (colon == std::string_view::npos) return {std::string(text)};
  AxisRef ref{std::string(text.substr(0, colon))};
  const char *at = text.data() + colon + 2, *end = text.data() + text.size();
  const auto pre = std::from_chars(at, end, ref.pre_size);
  if (pre.ec == std::errc() && pre.ptr < end && *pre.ptr == ')') {
    const auto size = std::from_chars(pre.ptr + 1, end, ref.size);
    if (size.ec == std::errc() && size.ptr == end && ref.size > 0 && ref.pre_size > 0) return ref;
  }
  sharding_error("collective", "expected an axis or a part of one as x:(1)2, got '{}'", text);
}

int64_t axes_size(const Mesh& mesh, const std::vector<std::string>& axes) {
  int64_t size = 1;
  for (const AxisPart& part : axis_parts(mesh, axes)) size *= part.size;
  return size;
}

int64_t group_size(const Mesh& mesh, const std::vector<std::string>& axes,
                   const std::vector<Dims>& groups) {
  if (groups.empty()) return axes_size(mesh, axes);
  int64_t largest = 0;
  for (const Dims& group : groups) largest = std::max(largest, group.rank());
  return largest;
}

std::vector<std::vector<int64_t>> device_groups(const Mesh& mesh,
                                                const std::vector<std::string>& axes,
                                                const std::vector<Dims>& groups) {
  const std::vector<AxisPart> parts = axis_parts(mesh, axes);
  const int64_t ranks = axes_size(mesh, axes);
  // Devices that differ in nothing except their rank have the same coordinates once the axes' parts
  // are removed.
  std::map<std::vector<int64_t>, size_t> index;
  std::vector<std::vector<int64_t>> lines;
  for (int64_t device = 0; device < mesh.size(); ++device) {
    const Dims at = mesh.coordinates(device);
    std::vector<int64_t> rest(at.begin(), at.end());
    int64_t rank = 0;
    for (const AxisPart& part : parts) {
      const int64_t position = at[part.mesh_axis] / part.minor % part.size;
      rank = rank * part.size + position;
      rest[part.mesh_axis] -= position * part.minor;
    }
    const auto [it, is_new] = index.emplace(std::move(rest), lines.size());
    if (is_new) lines.emplace_back(ranks);
    lines[it->second][rank] = device;
  }
  if (groups.empty()) return lines;
  std::vector<std::vector<int64_t>> out;
  for (const auto& line : lines)
    for (const Dims& group : groups) {
      out.emplace_back();
      for (int64_t rank : group) out.back().push_back(line[rank]);
    }
  return out;
}

namespace {

// Returns use(params), where params has its own struct's type.
template <class Use>
auto visit_collective(const Op& op, Use&& use) {
  const auto* lowering = std::get_if<CollectiveLowering>(&op.def->lower);
  TESSERA_CHECK(lowering, "{}.{} is no collective", op.def->dialect, op.def->name);
  switch (lowering->kind) {
    case CollectiveKind::kAllReduce:
      return use(op.params.as<AllReduceParams>());
    case CollectiveKind::kAllGather:
      return use(op.params.as<AllGatherParams>());
    case CollectiveKind::kReduceScatter:
      return use(op.params.as<ReduceScatterParams>());
    case CollectiveKind::kAllToAll:
      return use(op.params.as<AllToAllParams>());
    case CollectiveKind::kPermute:
      return use(op.params.as<CollectivePermuteParams>());
    case CollectiveKind::kBroadcast:
      return use(op.params.as<CollectiveBroadcastParams>());
    case CollectiveKind::kRaggedAllToAll:
      return use(op.params.as<RaggedAllToAllParams>());
    case CollectiveKind::kAxisIndex:
      return use(op.params.as<AxisIndexParams>());
    case CollectiveKind::kCast:
      return use(op.params.as<PcastParams>());
  }
  TESSERA_CHECK(false, "collective kind");
  __builtin_unreachable();
}

}  // namespace

CollectiveInfo collective_info(const Op& op) {
  return visit_collective(op, [&](const auto& p) {
    CollectiveInfo info{
        .kind = std::get<CollectiveLowering>(op.def->lower).kind, .mesh = p.mesh, .axes = p.axes};
    if constexpr (requires { p.groups; }) info.groups = p.groups;
    if constexpr (requires { p.kind; }) info.reduce = p.kind;
    if constexpr (requires { p.dim; }) info.dim = p.dim;
    if constexpr (requires { p.split_dim; }) info.dim = p.split_dim;
    if constexpr (requires { p.concat_dim; }) info.concat_dim = p.concat_dim;
    if constexpr (requires { p.pairs; }) info.pairs = p.pairs;
    if constexpr (requires { p.root; }) info.root = p.root;
    return info;
  });
}

OpParams with_axes(const Op& op, const Mesh& mesh, const std::vector<std::string>& axes) {
  return visit_collective(op, [&](auto p) -> OpParams {
    p.mesh = mesh;
    p.axes = axes;
    return p;
  });
}

int64_t collective_bytes_per_device(const CollectiveInfo& info, const Type& operand) {
  const int64_t n = group_size(info.mesh, info.axes, info.groups), bytes = operand.bytes();
  switch (info.kind) {
    case CollectiveKind::kAllReduce:
      return ceil_div(2 * (n - 1) * bytes, n);
    case CollectiveKind::kAllGather:
      return (n - 1) * bytes;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kRaggedAllToAll:
      return ceil_div((n - 1) * bytes, n);
    case CollectiveKind::kPermute:
    case CollectiveKind::kBroadcast:
      return n == 1 ? 0 : bytes;
    case CollectiveKind::kAxisIndex:
    case CollectiveKind::kCast:
      return 0;
  }
  TESSERA_CHECK(false, "collective kind");
  __builtin_unreachable();
}

}  // namespace tessera::ops
