#include "tessera/interchange/formats/collective_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "tessera/interchange/formats/formats.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/reductions/written_kind.h"

namespace tessera::interchange::formats {

std::vector<std::string> axes_that_differ(const Mesh& mesh, const DeviceGroups& groups) {
  std::vector<std::string> axes;
  for (int64_t d = 0; d < mesh.rank(); ++d) {
    bool differ = false;
    for (const auto& group : groups)
      for (int64_t device : group)
        differ = differ || mesh.coordinates(device)[d] != mesh.coordinates(group[0])[d];
    if (differ) axes.push_back(mesh.axis_names()[d]);
  }
  return axes;
}

std::optional<std::vector<Dims>> rank_groups(const Mesh& mesh, const std::vector<std::string>& axes,
                                             const DeviceGroups& groups) {
  const DeviceGroups lines = device_groups(mesh, axes, {});
  std::map<int64_t, std::pair<size_t, int64_t>> position;  // of a device: its line and its rank
  for (size_t l = 0; l < lines.size(); ++l)
    for (size_t rank = 0; rank < lines[l].size(); ++rank)
      position[lines[l][rank]] = {l, static_cast<int64_t>(rank)};
  std::vector<std::set<std::vector<int64_t>>> of_line(lines.size());
  for (const auto& group : groups) {
    if (group.empty()) return std::nullopt;
    std::vector<int64_t> ranks;
    for (int64_t device : group) {
      if (position.at(device).first != position.at(group[0]).first) return std::nullopt;
      ranks.push_back(position.at(device).second);
    }
    of_line[position.at(group[0]).first].insert(ranks);
  }
  for (const auto& other : of_line)
    if (other != of_line[0]) return std::nullopt;
  std::vector<Dims> out;
  for (const auto& ranks : of_line[0]) out.emplace_back(ranks.begin(), ranks.end());
  return out;
}

AxesAndGroups find_axes(const Mesh& mesh, DeviceGroups groups) {
  std::vector<std::string> axes = axes_that_differ(mesh, groups);
  std::sort(groups.begin(), groups.end());
  std::vector<std::string> order = axes;
  std::sort(order.begin(), order.end());
  do {
    DeviceGroups lines = device_groups(mesh, order, {});
    std::sort(lines.begin(), lines.end());
    if (lines == groups) return {order, {}};
  } while (order.size() <= 6 && std::next_permutation(order.begin(), order.end()));
  if (const auto ranks = rank_groups(mesh, axes, groups)) return {axes, *ranks};
  axes = mesh.axis_names();
  return {axes, rank_groups(mesh, axes, groups).value_or(std::vector<Dims>())};
}

namespace {

// #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [...]>, one of the forms of groups.
struct MeshAxes {
  Mesh mesh;
  std::vector<std::string> axes;
};
std::optional<MeshAxes> read_mesh_axes(OpReader& reader) {
  const TextAttr* written = reader.text.find("replica_groups");
  const auto* record = written ? written->get<TextAttr::Record>() : nullptr;
  if (!record || record->name != "stablehlo.replica_group_mesh_axes") return std::nullopt;
  reader.text.take("replica_groups");
  MeshAxes out;
  bool named = false;
  for (const auto& [key, value] : record->entries) {
    if (const Mesh* mesh = value.get<Mesh>(); mesh && key == "mesh") {
      out.mesh = *mesh;
      named = true;
    }
    const auto* list = value.get<TextAttr::List>();
    for (const TextAttr& item : list&& key == "axes" ? list->items : std::vector<TextAttr>()) {
      AxisRef axis;
      if (const auto* ref = item.get<TextAttr::Record>())
        for (const auto& [field, of] : ref->entries) {
          if (const auto* name = of.get<std::string>(); name && field == "name") axis.name = *name;
          const auto* part = of.get<TextAttr::Record>();
          for (const auto& [side, size] : part ? part->entries : TextAttr::Entries())
            if (const auto* number = size.get<TextAttr::Integer>())
              (side == "size" ? axis.size : axis.pre_size) = number->value;
        }
      if (axis.name.empty())
        reader.error("expected axes of the mesh, as axes = [#stablehlo.axis_ref<name = \"x\">]");
      out.axes.push_back(fmt::format("{}", axis));
    }
  }
  if (!named)
    reader.error(
        "expected replica_groups to name a mesh of this module, or to hold one, as mesh = @mesh");
  return out;
}

// Returns these groups as positions in `mesh`, which has the same devices.
DeviceGroups mesh_groups(const MeshAxes& written, const Mesh& mesh, OpReader& reader) {
  if (mesh.size() != written.mesh.size())
    reader.error(fmt::format("expected groups of the {} devices of {}, got {}", mesh.size(), mesh,
                             written.mesh));
  DeviceGroups groups = device_groups(written.mesh, written.axes, {});
  if (written.mesh == mesh) return groups;
  const std::vector<int64_t> from = logical_device_ids(written.mesh),
                             logical = logical_device_ids(mesh);
  std::vector<int64_t> position(logical.size());
  for (size_t i = 0; i < logical.size(); ++i) position[logical[i]] = static_cast<int64_t>(i);
  for (auto& group : groups)
    for (int64_t& device : group) device = position[from[device]];
  return groups;
}

// Returns a matrix of device ids as positions in the mesh; short rows are filled with -1.
DeviceGroups read_matrix(std::string_view name, const Mesh& mesh, OpReader& reader) {
  const auto* tensor = reader.require(name).get<TextAttr::Tensor>();
  if (!tensor || tensor->value.dtype() != int64 || tensor->shape.rank() != 2 ||
      tensor->shape.elements() > (1 << 24))
    reader.error(
        fmt::format("expected '{}' to be a matrix, as dense<[[0, 1]]> : tensor<1x2xi64>", name));
  const std::vector<int64_t> logical = logical_device_ids(mesh);
  std::map<int64_t, int64_t> position;
  for (size_t i = 0; i < logical.size(); ++i) position[logical[i]] = static_cast<int64_t>(i);
  DeviceGroups rows(static_cast<size_t>(tensor->shape[0]));
  const bool splat = tensor->value.shape().empty();
  int64_t next = 0;
  for (auto& row : rows)
    for (int64_t i = 0; i < tensor->shape[1]; ++i) {
      const int64_t id = tensor->value.data<int64_t>()[splat ? 0 : next++];
      if (id == -1) continue;
      const auto it = position.find(id);
      if (it == position.end())
        reader.error(fmt::format("expected devices 0 to {} of {} in '{}', got {}", mesh.size() - 1,
                                 mesh, name, id));
      row.push_back(it->second);
    }
  return rows;
}

}  // namespace

WrittenGroups read_groups(std::string_view name, OpReader& reader) {
  const std::optional<MeshAxes> by_axes = read_mesh_axes(reader);
  const bool outside = AxisEnv::current().mesh().rank() == 0;
  WrittenGroups out{.mesh = by_axes && outside ? by_axes->mesh : reader.mesh()};
  // The devices of a mesh are partitions, with or without a channel.
  if (!reader.text.take("channel_handle") && !by_axes && !reader.has_replicas() &&
      out.mesh.size() > 1)
    reader.error(
        "expected a channel_handle: a collective among the partitions of one program, got one "
        "among "
        "replicas; compile the program for several replicas");
  reader.text.take("use_global_device_ids");
  const bool named = by_axes && name == "replica_groups";
  out.groups =
      named ? mesh_groups(*by_axes, out.mesh, reader) : read_matrix(name, out.mesh, reader);
  if (out.groups.empty() && name == "replica_groups" && reader.has_replicas())  // all of them
    out.groups = device_groups(out.mesh, out.mesh.axis_names(), {});
  return out;
}

ReduceKind read_combiner(OpReader& reader) {
  if (reader.text.regions.size() != 1) reader.error("expected the region that combines two values");
  const ReduceKind kind = written_kind(*plain_body(reader.text.regions[0]));
  if (kind == ReduceKind::kCustom)
    reader.error("expected a region that adds, multiplies, or takes the minimum, maximum, and, or");
  return kind;
}

}  // namespace tessera::interchange::formats
