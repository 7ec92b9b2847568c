// Text of the collectives: StableHLO names the devices that talk to each other, Tessera the mesh
// axes they lie along.
#include <algorithm>
#include <map>
#include <set>

#include "tessera/ir/axis_env.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/text/formats.h"

namespace tessera::ops::formats {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

// Rows of one length; shorter groups are filled with -1, as StableHLO has it.
TextAttr matrix(const Groups& rows) {
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.size());
  Literal out(int64, {static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)});
  int64_t* to = out.mutable_data<int64_t>();
  for (const auto& row : rows)
    for (size_t i = 0; i < width; ++i) *to++ = i < row.size() ? row[i] : -1;
  const Shape shape = out.shape();
  return TextAttr::Tensor{std::move(out), shape};
}

OpText write_collective(const Op& op, const Function& function) {
  const CollectiveInfo info = collective_info(op);
  const std::vector<int64_t> logical = logical_device_ids(info.mesh);
  Groups groups = device_groups(info.mesh, info.axes, info.groups);
  for (auto& group : groups)
    for (int64_t& device : group) device = logical[device];
  const TextAttr channel =
      TextAttr::Record{"stablehlo.channel_handle",
                       {{"handle", TextAttr::Integer{1}}, {"type", TextAttr::Integer{1}}}};
  const TextAttr dim = TextAttr::Integer{info.dim};
  OpText text;
  auto add = [&](const char* name, TextAttr value) {
    text.attributes.emplace_back(name, std::move(value));
  };
  switch (info.kind) {
    case CollectiveKind::kAllReduce:
      add("channel_handle", channel);
      add("replica_groups", matrix(groups));
      add("use_global_device_ids", TextAttr::Unit{});
      text.regions = {reduce_body(info.reduce, function.type(op.operands[0]).dtype)};
      break;
    case CollectiveKind::kAllGather:
      add("all_gather_dim", dim);
      add("channel_handle", channel);
      add("replica_groups", matrix(groups));
      add("use_global_device_ids", TextAttr::Unit{});
      break;
    case CollectiveKind::kReduceScatter:
      add("channel_handle", channel);
      add("replica_groups", matrix(groups));
      add("scatter_dimension", dim);
      add("use_global_device_ids", TextAttr::Unit{});
      text.regions = {reduce_body(info.reduce, function.type(op.operands[0]).dtype)};
      break;
    case CollectiveKind::kAllToAll:
      add("channel_handle", channel);
      add("concat_dimension", TextAttr::Integer{info.concat_dim});
      add("replica_groups", matrix(groups));
      add("split_count", TextAttr::Integer{group_size(info.mesh, info.axes, info.groups)});
      add("split_dimension", dim);
      break;
    case CollectiveKind::kPermute: {
      Groups pairs;
      for (const auto& line : groups)
        for (const Dims& pair : info.pairs) pairs.push_back({line[pair[0]], line[pair[1]]});
      add("channel_handle", channel);
      if (pairs.empty()) {
        add("source_target_pairs", TextAttr::Tensor{Literal(int64, {0, 2}), {0, 2}});
      } else {
        add("source_target_pairs", matrix(pairs));
      }
      break;
    }
    case CollectiveKind::kBroadcast:  // the first of a group sends
      for (auto& group : groups)
        std::rotate(group.begin(), group.begin() + info.root, group.begin() + info.root + 1);
      add("channel_handle", channel);
      add("replica_groups", matrix(groups));
      break;
    case CollectiveKind::kRaggedAllToAll:
    case CollectiveKind::kAxisIndex:
    case CollectiveKind::kCast:
      TESSERA_CHECK(false, "{} is no StableHLO op", op.def->name);
  }
  // Params that the above does not hold.
  const std::vector<Attribute> fields = op.params.fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string_view name = op.def->attributes[i];
    const bool listed = name == "mesh" || name == "axes" || name == "root" ||
                        (name == "groups" && !info.groups.empty()) ||
                        (name == "invariant" && std::get<bool>(fields[i])) ||
                        name == "source_target_pairs";
    if (listed)
      text.extra.emplace_back(
          fmt::format("tessera.{}", name == "source_target_pairs" ? "pairs" : name),
          to_text(fields[i], nullptr));
  }
  return text;
}

// --- Reading groups of devices as axes ---

// Axes along which some of these sets of devices differ, major first.
std::vector<std::string> axes_that_differ(const Mesh& mesh, const Groups& groups) {
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

struct AxesAndGroups {
  std::vector<std::string> axes;
  std::vector<Dims> groups;
};

// Groups of ranks along `axes` that give these groups of devices, if all lines of devices have the
// same.
std::optional<std::vector<Dims>> rank_groups(const Mesh& mesh, const std::vector<std::string>& axes,
                                             const Groups& groups) {
  const Groups lines = device_groups(mesh, axes, {});
  std::map<int64_t, std::pair<size_t, int64_t>> place;  // of a device: line and rank
  for (size_t l = 0; l < lines.size(); ++l)
    for (size_t rank = 0; rank < lines[l].size(); ++rank)
      place[lines[l][rank]] = {l, static_cast<int64_t>(rank)};
  std::vector<std::set<std::vector<int64_t>>> of_line(lines.size());
  for (const auto& group : groups) {
    if (group.empty()) return std::nullopt;
    std::vector<int64_t> ranks;
    for (int64_t device : group) {
      if (place.at(device).first != place.at(group[0]).first) return std::nullopt;
      ranks.push_back(place.at(device).second);
    }
    of_line[place.at(group[0]).first].insert(ranks);
  }
  for (const auto& other : of_line)
    if (other != of_line[0]) return std::nullopt;
  std::vector<Dims> out;
  for (const auto& ranks : of_line[0]) out.emplace_back(ranks.begin(), ranks.end());
  return out;
}

// Groups that are whole lines along some axes, in some order, are these axes; others are groups of
// ranks along the axes in which their devices differ, or along all.
AxesAndGroups find_axes(const Mesh& mesh, Groups groups) {
  std::vector<std::string> axes = axes_that_differ(mesh, groups);
  std::sort(groups.begin(), groups.end());
  std::vector<std::string> order = axes;
  std::sort(order.begin(), order.end());
  do {
    Groups lines = device_groups(mesh, order, {});
    std::sort(lines.begin(), lines.end());
    if (lines == groups) return {order, {}};
  } while (order.size() <= 6 && std::next_permutation(order.begin(), order.end()));
  if (const auto ranks = rank_groups(mesh, axes, groups)) return {axes, *ranks};
  axes = mesh.axis_names();
  return {axes, rank_groups(mesh, axes, groups).value_or(std::vector<Dims>())};
}

// #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [...]>, if the groups are written so.
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

// These groups as positions in `mesh`, which has the same devices.
Groups mesh_groups(const MeshAxes& written, const Mesh& mesh, OpReader& reader) {
  if (mesh.size() != written.mesh.size())
    reader.error(fmt::format("expected groups of the {} devices of {}, got {}", mesh.size(), mesh,
                             written.mesh));
  Groups groups = device_groups(written.mesh, written.axes, {});
  if (written.mesh == mesh) return groups;
  const std::vector<int64_t> from = logical_device_ids(written.mesh),
                             logical = logical_device_ids(mesh);
  std::vector<int64_t> position(logical.size());
  for (size_t i = 0; i < logical.size(); ++i) position[logical[i]] = static_cast<int64_t>(i);
  for (auto& group : groups)
    for (int64_t& device : group) device = position[from[device]];
  return groups;
}

// A matrix of device ids as positions in the mesh; -1 fills short rows.
Groups read_matrix(std::string_view name, const Mesh& mesh, OpReader& reader) {
  const auto* tensor = reader.require(name).get<TextAttr::Tensor>();
  if (!tensor || tensor->value.dtype() != int64 || tensor->shape.rank() != 2 ||
      tensor->shape.elements() > (1 << 24))
    reader.error(
        fmt::format("expected '{}' to be a matrix, as dense<[[0, 1]]> : tensor<1x2xi64>", name));
  const std::vector<int64_t> logical = logical_device_ids(mesh);
  std::map<int64_t, int64_t> position;
  for (size_t i = 0; i < logical.size(); ++i) position[logical[i]] = static_cast<int64_t>(i);
  Groups rows(static_cast<size_t>(tensor->shape[0]));
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

void check_partition(const Groups& groups, const Mesh& mesh, OpReader& reader) {
  std::set<int64_t> seen;
  size_t count = 0;
  for (const auto& group : groups) {
    seen.insert(group.begin(), group.end());
    count += group.size();
  }
  if (count != seen.size() || static_cast<int64_t>(count) != mesh.size())
    reader.error(fmt::format("expected each of the {} devices of {} in exactly one group",
                             mesh.size(), mesh));
}

// What the fields of any collective are, by name.
struct Found {
  Mesh mesh;
  AxesAndGroups axes;
  std::vector<Dims> pairs;
  int64_t root = 0;
};

Found read_foreign(const OpDef& def, OpReader& reader) {
  const std::optional<MeshAxes> by_axes = read_mesh_axes(reader);
  const bool outside = AxisEnv::current().mesh().rank() == 0;
  Found found{.mesh = by_axes && outside ? by_axes->mesh : reader.mesh()};
  // The devices of a mesh are partitions, whether there is a channel or not.
  if (!reader.text.take("channel_handle") && !by_axes)
    reader.error(
        "expected a channel_handle: a collective among the partitions of one program, not among "
        "replicas");
  reader.text.take("use_global_device_ids");
  if (std::get<CollectiveLowering>(def.lower).kind != CollectiveKind::kPermute) {
    const Groups groups = by_axes ? mesh_groups(*by_axes, found.mesh, reader)
                                  : read_matrix("replica_groups", found.mesh, reader);
    check_partition(groups, found.mesh, reader);
    found.axes = find_axes(found.mesh, groups);
  } else {
    const Groups pairs = read_matrix("source_target_pairs", found.mesh, reader);
    for (const auto& pair : pairs)
      if (pair.size() != 2) reader.error("expected source_target_pairs of two devices each");
    found.axes.axes = axes_that_differ(found.mesh, pairs);
    auto ranks = rank_groups(found.mesh, found.axes.axes, pairs);
    if (!ranks) {
      found.axes.axes = found.mesh.axis_names();
      ranks = rank_groups(found.mesh, found.axes.axes, pairs);
    }
    if (!pairs.empty()) found.pairs = ranks.value_or(std::vector<Dims>());
  }
  // Collectives take values that vary over their axes.
  if (reader.operands.empty()) reader.error("expected an operand, got none");
  AxisNames wanted = found.axes.axes;
  std::sort(wanted.begin(), wanted.end());
  for (ValueId& v : reader.operands) {
    const AxisNames missing = axis_difference(wanted, reader.type(v).varying);
    if (!missing.empty())
      v = reader.insert(pcast_op, PcastParams{found.mesh, missing}, std::span(&v, 1))[0];
  }
  return found;
}

Found read_own(OpReader& reader) {
  for (const char* name :
       {"channel_handle", "replica_groups", "use_global_device_ids", "source_target_pairs"})
    reader.text.take(name);
  auto field = [&]<class T>(const char* name, T missing) {
    const TextAttr* attribute = reader.text.take(fmt::format("tessera.{}", name));
    return attribute ? std::get<T>(from_text(*attribute, Attribute(missing), name, reader))
                     : missing;
  };
  Found found;
  found.mesh = field("mesh", Mesh());
  found.axes.axes = field("axes", std::vector<std::string>());
  found.axes.groups = field("groups", std::vector<Dims>());
  found.pairs = field("pairs", std::vector<Dims>());
  found.root = field("root", int64_t{0});
  return found;
}

OpParams read_collective(const OpDef& def, OpReader& reader) {
  const bool own = reader.text.find("tessera.axes") && reader.text.find("tessera.mesh");
  Found found = own ? read_own(reader) : read_foreign(def, reader);
  if (reader.text.find("split_count"))
    if (const int64_t count = reader.require_int("split_count");
        count != group_size(found.mesh, found.axes.axes, found.axes.groups))
      reader.error(fmt::format("expected a split_count of {}, the size of the groups, got {}",
                               group_size(found.mesh, found.axes.axes, found.axes.groups), count));
  std::vector<Attribute> fields = def.params.fields();
  size_t regions = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string_view name = def.attributes[i];
    if (name == "mesh") {
      fields[i] = found.mesh;
    } else if (name == "axes") {
      fields[i] = found.axes.axes;
    } else if (name == "groups") {
      fields[i] = found.axes.groups;
    } else if (name == "source_target_pairs") {
      fields[i] = found.pairs;
    } else if (name == "root") {
      fields[i] = found.root;
    } else if (name == "invariant") {
      fields[i] = reader.text.take("tessera.invariant") != nullptr;
    } else if (name == "kind") {
      if (reader.text.regions.size() != 1)
        reader.error("expected the region that combines two values");
      const ReduceKind kind = written_kind(*plain_body(reader.text.regions[0]));
      if (kind == ReduceKind::kCustom)
        reader.error(
            "expected a region that adds, multiplies, or takes the minimum, maximum, and, or");
      fields[i] = std::string(enum_names(kind)[static_cast<size_t>(kind)]);
      regions = 1;
    } else {
      fields[i] = from_text(reader.require(name), fields[i], name, reader);
    }
  }
  if (reader.text.regions.size() != regions)
    reader.error(fmt::format("expected {} regions, got {}", regions, reader.text.regions.size()));
  return def.params.with_fields(fields);
}

}  // namespace

OpFormat collective() { return {.write = write_collective, .read = read_collective}; }

}  // namespace tessera::ops::formats
