// Text of the collectives. StableHLO names the devices that communicate; Tessera names the mesh
// axes along which they communicate.
#include <algorithm>
#include <set>

#include "tessera/interchange/formats/collective_text.h"
#include "tessera/interchange/formats/formats.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/reductions/reduce.h"

namespace tessera::interchange::formats {
namespace {

// Returns a matrix with one group in each row. Shorter groups are filled with -1, as in StableHLO.
TextAttr matrix(const DeviceGroups& rows) {
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
  DeviceGroups groups = device_groups(info.mesh, info.axes, info.groups);
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
      DeviceGroups pairs;
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
  // The params that StableHLO's attributes do not contain.
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

// The fields of any collective, by name.
struct Found {
  Mesh mesh;
  AxesAndGroups axes;
  std::vector<Dims> pairs;
  int64_t root = 0;
};

void check_partition(const WrittenGroups& written, OpReader& reader) {
  std::set<int64_t> seen;
  size_t count = 0;
  for (const auto& group : written.groups) {
    seen.insert(group.begin(), group.end());
    count += group.size();
  }
  if (count != seen.size() || static_cast<int64_t>(count) != written.mesh.size())
    reader.error(fmt::format("expected each of the {} devices of {} in exactly one group",
                             written.mesh.size(), written.mesh));
}

Found read_foreign(const OpDef& def, OpReader& reader) {
  const bool permutes = std::get<CollectiveLowering>(def.lower).kind == CollectiveKind::kPermute;
  const WrittenGroups written =
      read_groups(permutes ? "source_target_pairs" : "replica_groups", reader);
  Found found{.mesh = written.mesh};
  if (!permutes) {
    check_partition(written, reader);
    found.axes = find_axes(found.mesh, written.groups);
  } else {
    const DeviceGroups& pairs = written.groups;
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
      const ReduceKind kind = read_combiner(reader);
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

// The config of JAX's custom call has the attributes that StableHLO's collectives have themselves.
std::vector<ValueId> ragged_all_to_all_call(OpReader& reader) {
  if (reader.operands.size() != 6)
    reader.error(fmt::format("expected 6 operands, got {}", reader.operands.size()));
  for (const char* about : {"api_version", "has_side_effect", "operand_layouts", "result_layouts",
                            "output_operand_aliases"})
    reader.text.take(about);
  TextAttr::Entries config;
  for (const char* name : {"mhlo.backend_config", "backend_config"})
    if (const TextAttr* attribute = reader.text.take(name))
      if (const auto* record = attribute->get<TextAttr::Record>()) config = record->entries;
  for (auto& [name, value] : config)
    reader.text.attributes.emplace_back(name == "channel_id" ? "channel_handle" : name,
                                        std::move(value));
  const Found found = read_foreign(ragged_all_to_all_op, reader);
  return reader.insert(ragged_all_to_all_op,
                       RaggedAllToAllParams{found.mesh, found.axes.axes, found.axes.groups},
                       reader.operands);
}

// The older form of an all_reduce that adds. The sum of booleans is whether one of them is true.
std::vector<ValueId> cross_replica_sum(OpReader& reader) {
  const Found found = read_foreign(all_reduce_op, reader);
  const bool booleans = reader.type(reader.operands[0]).dtype == bool_;
  return reader.insert(all_reduce_op,
                       AllReduceParams{found.mesh, found.axes.axes, found.axes.groups,
                                       booleans ? ReduceKind::kOr : ReduceKind::kSum},
                       reader.operands);
}

OpFormat collective() { return {.write = write_collective, .read = read_collective}; }

}  // namespace tessera::interchange::formats
