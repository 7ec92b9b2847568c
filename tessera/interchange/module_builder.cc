#include "tessera/interchange/module_builder.h"

#include <algorithm>
#include <numeric>

#include "tessera/interchange/hlo_sharding.h"
#include "tessera/interchange/unreduced.h"
#include "tessera/mesh/device_mesh.h"

namespace tessera::interchange {
namespace {

// Calls are inlined before a program is compiled, so a few of them can become any number of ops.
constexpr int64_t kMaxOps = int64_t{1} << 20, kMaxLevels = 250;

}  // namespace

// --- Functions ---

// Reads every function after those that it calls, so that a long chain of calls does not need a
// deep stack. If functions call themselves, one of them is read first, and the call of it is an
// error.
void ModuleBuilder::read_functions() {
  if (open_) {
    for (const std::string& name : function_order_)
      if (functions_[name].is_public || name == "main") find_function(name, 0);
    return;
  }
  std::set<std::string> seen;
  std::vector<std::pair<FunctionEntry*, size_t>> path;
  std::vector<std::string> names;
  const auto enter = [&](const std::string& name) {
    const auto it = functions_.find(name);
    if (it == functions_.end() || !seen.insert(name).second) return;
    path.emplace_back(&it->second, 0);
    names.push_back(name);
  };
  for (const std::string& name : function_order_) {
    enter(name);
    while (!path.empty()) {
      auto& [entry, mention] = path.back();
      if (mention < entry->mentions.size()) {
        enter(entry->mentions[mention++]);
        continue;
      }
      if (!entry->function && !entry->offset) read_function(names.back(), *entry);
      path.pop_back();
      names.pop_back();
    }
  }
}

ModuleBuilder::FunctionEntry& ModuleBuilder::find_function(const std::string& name, size_t offset) {
  const auto it = functions_.find(name);
  if (it == functions_.end())
    error_at(offset, fmt::format("expected the name of a function of this module, got @{}", name));
  FunctionEntry& entry = it->second;
  if (entry.in_progress)
    error_at(
        offset,
        fmt::format("expected functions that do not call themselves, got @{} within itself", name));
  if (!entry.function && !entry.offset) read_function(name, entry);
  return entry;
}

ModuleBuilder::Extent ModuleBuilder::extent(const FunctionRef& function) {
  if (const auto it = extents_.find(function); it != extents_.end()) return it->second;
  Extent out{.levels = 1};
  const auto add = [&](const FunctionRef& inner) {
    if (!inner) return;
    const Extent e = extent(inner);
    out.ops += e.ops;
    out.levels = std::max(out.levels, e.levels + 1);
  };
  for (const Op& op : function->ops) {
    ++out.ops;
    for (const Attribute& field : op.params.fields()) {
      if (const auto* one = std::get_if<FunctionRef>(&field)) add(*one);
      if (const auto* many = std::get_if<std::vector<FunctionRef>>(&field))
        for (const FunctionRef& inner : *many) add(inner);
    }
  }
  return extents_[function] = out;
}

void ModuleBuilder::check_extent(const FunctionEntry& entry, size_t offset) {
  const Extent e = extent(entry.function);
  if (e.ops > kMaxOps)
    error_at(offset, fmt::format("expected at most {} ops once every call is written out, got "
                                 "{} in @{}; call functions in loops, or less often",
                                 kMaxOps, e.ops, entry.function->name));
  if (e.levels > kMaxLevels)
    error_at(offset, fmt::format("expected at most {} levels of calls and regions, got {} in "
                                 "@{}; call functions one after the other",
                                 kMaxLevels, e.levels, entry.function->name));
}

// Returns the type with the sharding and other parts that the attributes add. Records in the entry
// the sharding of one more argument and whether it is donated.
Type ModuleBuilder::with_argument_attributes(Type type, const TextAttr::Entries& attributes,
                                             size_t offset, Scope& scope, FunctionEntry& entry) {
  entry.inputs.emplace_back();
  entry.unreduced_inputs.emplace_back();
  entry.donated.push_back(false);
  entry.input_layout_modes.emplace_back();
  for (const auto& [key, value] : attributes) {
    if (key == "sdy.sharding") {
      const std::optional<WrittenSharding> sharding = read_sharding(value);
      if (!sharding) error_at(offset, "expected sdy.sharding to be a sharding");
      located(offset, [&] { check_rank("sdy.sharding", sharding->value, type.shape); });
      if (sharding->value.mesh().rank() == 0) continue;  // JAX's @empty_mesh: one device
      entry.inputs.back() = sharding->value;
      entry.unreduced_inputs.back() = sharding->unreduced;
      type.sharding = std::make_shared<const NamedSharding>(sharding->value);
    } else if (key == "mhlo.sharding") {
      entry.inputs.back() = hlo_sharding(value, type, offset);
      if (entry.inputs.back())
        type.sharding = std::make_shared<const NamedSharding>(*entry.inputs.back());
    } else if (key == "tf.aliasing_output" || key == "jax.buffer_donor") {
      entry.donated.back() = true;
    } else if (key == "mhlo.layout_mode") {
      entry.input_layout_modes.back() = layout_mode(value, offset);
    } else if (key == "tessera.weak") {
      type.weak = true;
    } else if (key == "tessera.varying") {
      const Reader reader(*this, scope, offset);
      type.varying =
          std::get<std::vector<std::string>>(from_text(value, Attribute(AxisNames()), key, reader));
      std::sort(type.varying.begin(), type.varying.end());
      type.varying.erase(std::unique(type.varying.begin(), type.varying.end()), type.varying.end());
    }
  }
  return type;
}

std::optional<NamedSharding> ModuleBuilder::hlo_sharding(const TextAttr& text, const Type& type,
                                                         size_t offset) {
  const auto* written = text.get<std::string>();
  if (!written) error_at(offset, "expected mhlo.sharding to be a string");
  if (options_.replicas > 1) return std::nullopt;  // each replica has its whole value
  // The whole value is on one device.
  if (written->empty() || (partitions_ <= 1 && *written == "{replicated}")) return std::nullopt;
  const HloSharding sharding = parse_hlo_sharding(*written, type.rank(), partitions_);
  if (!sharding.problem.empty()) error_at(offset, sharding.problem);
  if (!sharding.spec) return std::nullopt;
  const Mesh& mesh = only_mesh(offset);
  if (mesh.rank() != 1 || mesh.axis_names()[0] != kPartitionAxis)
    error_at(offset, "expected a program with shardings of Shardy or of GSPMD, got both");
  return located(offset, [&] {
    check_rank("mhlo.sharding", NamedSharding(mesh, *sharding.spec), type.shape);
    return NamedSharding(mesh, *sharding.spec);
  });
}

std::string ModuleBuilder::layout_mode(const TextAttr& text, size_t offset) const {
  const auto* written = text.get<std::string>();
  if (!written) error_at(offset, "expected mhlo.layout_mode to be a string");
  return *written;
}

void ModuleBuilder::add_result_sharding(const TextAttr::Entries& attributes, const Type& type,
                                        size_t offset, FunctionEntry& entry) {
  entry.outputs.emplace_back();
  entry.unreduced_outputs.emplace_back();
  entry.memory_kinds.emplace_back();
  entry.output_layout_modes.emplace_back();
  for (const auto& [key, value] : attributes) {
    if (const auto* kind = value.get<std::string>(); kind && key == "mhlo.memory_kind")
      entry.memory_kinds.back() = *kind;
    if (key == "mhlo.layout_mode") entry.output_layout_modes.back() = layout_mode(value, offset);
    if (key == "mhlo.sharding") entry.outputs.back() = hlo_sharding(value, type, offset);
    const std::optional<WrittenSharding> sharding = read_sharding(value);
    if (!sharding || key != "sdy.sharding") continue;
    located(offset, [&] { check_rank("sdy.sharding", sharding->value, type.shape); });
    if (sharding->value.mesh().rank() == 0) continue;
    entry.outputs.back() = sharding->value;
    entry.unreduced_outputs.back() = sharding->unreduced;
  }
}

void ModuleBuilder::finish_function(Scope& scope, FunctionEntry& entry,
                                    std::span<const Type> results, size_t offset) {
  const std::string& name = scope.function.name;
  if (scope.function.outputs.size() != results.size())
    error_at(offset, fmt::format("expected @{} to return {} values, got {}", name, results.size(),
                                 scope.function.outputs.size()));
  for (size_t r = 0; r < results.size(); ++r) {
    const Type& type = scope.function.type(scope.function.outputs[r]);
    if (!fits(results[r], type))
      error_at(offset, fmt::format("expected result {} of @{} to be {}, got {}", r, name,
                                   results[r], type));
  }
  entry.in_progress = false;
  entry.function = std::make_shared<const Function>(std::move(scope.function));
  check_extent(entry, offset);
}

void ModuleBuilder::finish_declaration(FunctionEntry& entry, const TextAttr::Entries& attributes,
                                       size_t offset) {
  entry.in_progress = false;
  entry.offset = offset;
  entry.mesh = stablehlo_mesh(attributes, offset);
}

ParsedModule ModuleBuilder::finish_module(size_t offset) {
  if (functions_.empty())
    error_at(offset, "expected a function, as func.func public @main(...), got none");
  std::string main = "main";
  if (!functions_.count(main)) {
    std::vector<std::string> candidates;
    for (const std::string& name : function_order_)
      if (functions_[name].is_public && functions_[name].function) candidates.push_back(name);
    if (candidates.size() != 1)
      error_at(offset,
               fmt::format("expected a function @main or one public function, got {} public "
                           "ones",
                           candidates.size()));
    main = candidates[0];
  }
  FunctionEntry& entry = functions_[main];
  if (!entry.function)
    error_at(entry.offset.value_or(offset), fmt::format("expected @{} to have a body", main));
  ParsedModule out{.name = module_name_.empty() ? main : module_name_, .main = *entry.function};
  out.input_names = entry.names;
  out.input_shardings = entry.inputs;
  out.output_shardings = entry.outputs;
  out.input_unreduced = entry.unreduced_inputs;
  out.output_unreduced = entry.unreduced_outputs;
  out.output_memory_kinds = entry.memory_kinds;
  out.input_layout_modes = entry.input_layout_modes;
  out.output_layout_modes = entry.output_layout_modes;
  out.donated = entry.donated;
  if (options_.replicas > 1) out.replicas = only_mesh(offset);
  for (const auto& [name, mesh] : meshes_) out.meshes.push_back(find_mesh(name, offset));
  return out;
}

// --- Meshes ---

const Mesh& ModuleBuilder::find_mesh(const std::string& name, size_t offset) {
  if (const auto declared = functions_.find(name);
      declared != functions_.end() && !meshes_.contains(name))
    if (const FunctionEntry& entry = find_function(name, offset); entry.mesh) return *entry.mesh;
  const auto it = meshes_.find(name);
  if (it == meshes_.end())
    error_at(offset, fmt::format("expected the name of a mesh of this module, got @{}", name));
  if (!it->second) it->second = read_mesh(name);
  return *it->second;
}

// Returns the mesh of devices 0 to size - 1, along one axis of this name.
const Mesh& ModuleBuilder::line_of_devices(std::string_view axis, int64_t size, size_t offset) {
  std::optional<Mesh>& mesh = meshes_[std::string(axis)];
  if (mesh) return *mesh;
  MeshParts parts{{size}, {std::string(axis)}, {}};
  check_axis_size({}, size, offset);
  parts.ids.resize(static_cast<size_t>(size));
  std::iota(parts.ids.begin(), parts.ids.end(), 0);
  return mesh.emplace(make_mesh(std::move(parts), {}, offset));
}

const Mesh& ModuleBuilder::only_mesh(size_t offset) {
  if (options_.replicas > 1) return line_of_devices(kReplicaAxis, options_.replicas, offset);
  // JAX writes shard_map over one device without a mesh, and GSPMD's programs have none.
  if (meshes_.empty() && partitions_ > 0)
    return line_of_devices(kPartitionAxis, partitions_, offset);
  // Besides the mesh of a shard_map JAX may write one without axes.
  const Mesh* only = nullptr;
  size_t count = 0;
  for (const auto& [name, unused] : meshes_) {
    const Mesh& mesh = find_mesh(name, offset);
    if (meshes_.size() > 1 && mesh.rank() == 0) continue;
    only = &mesh;
    ++count;
  }
  if (count != 1)
    error_at(offset, fmt::format("expected a module with one mesh to say which devices take part, "
                                 "got {}",
                                 count));
  return *only;
}

void ModuleBuilder::check_axis_size(const MeshParts& parts, int64_t size, size_t offset) const {
  if (size < 1 || size > (1 << 20) || size * parts.sizes.elements() > (1 << 20))
    error_at(offset, "expected axes of sizes from 1 on, 2^20 devices at most");
}

TextAttr ModuleBuilder::symbol(const std::string& name, size_t offset) {
  if (meshes_.count(name)) return find_mesh(name, offset);
  if (functions_.count(name) && open_) return TextAttr::Symbol{name};  // resolve_functions()
  if (functions_.count(name)) {
    const FunctionEntry& entry = find_function(name, offset);
    if (entry.mesh) return *entry.mesh;
    if (entry.function) return entry.function;
  }
  return TextAttr::Symbol{name};
}

// The parser makes one Array of a list if all of its elements are integers, or if it is empty.
Mesh ModuleBuilder::mesh_of(const TextAttr& text, size_t offset) {
  if (const auto* mesh = text.get<Mesh>()) return *mesh;
  constexpr const char* kForm =
      "expected a mesh, as #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"x\", size = 2>]>";
  const auto* record = text.get<TextAttr::Record>();
  const auto find = [&](const TextAttr::Record& in, std::string_view name) -> const TextAttr* {
    for (const auto& [key, value] : in.entries)
      if (key == name) return &value;
    return nullptr;
  };
  const TextAttr* axes = record ? find(*record, "axes") : nullptr;
  const auto* none = axes ? axes->get<TextAttr::Array>() : nullptr;
  const auto* list = axes ? axes->get<TextAttr::List>() : nullptr;
  if (!list && !(none && none->values.empty())) error_at(offset, kForm);
  MeshParts parts;
  for (const TextAttr& axis : list ? list->items : std::vector<TextAttr>()) {
    const auto* fields = axis.get<TextAttr::Record>();
    const TextAttr* name = fields ? find(*fields, "name") : nullptr;
    const TextAttr* size = fields ? find(*fields, "size") : nullptr;
    if (!name || !name->get<std::string>() || !size || !size->get<TextAttr::Integer>())
      error_at(offset, kForm);
    check_axis_size(parts, size->get<TextAttr::Integer>()->value, offset);
    parts.names.push_back(*name->get<std::string>());
    parts.sizes.push_back(size->get<TextAttr::Integer>()->value);
  }
  parts.ids.resize(static_cast<size_t>(parts.sizes.elements()));
  std::iota(parts.ids.begin(), parts.ids.end(), 0);
  if (const TextAttr* ids = find(*record, "device_ids")) {
    const auto* array = ids->get<TextAttr::Array>();
    const auto* tensor = ids->get<TextAttr::Tensor>();
    const bool whole = tensor && tensor->value.dtype() == int64 &&
                       tensor->value.shape().elements() == static_cast<int64_t>(parts.ids.size());
    if (whole) {
      const int64_t* from = tensor->value.data<int64_t>();
      parts.ids.assign(from, from + parts.ids.size());
    } else if (array && array->values.size() == parts.ids.size()) {
      parts.ids = array->values;
    } else {
      error_at(offset, fmt::format("expected a device id for each of the {} positions of the mesh",
                                   parts.ids.size()));
    }
  }
  return make_mesh(std::move(parts), {}, offset);
}

Mesh ModuleBuilder::inline_mesh(const TextAttr& text, size_t offset) {
  const Mesh mesh = mesh_of(text, offset);
  if (meshes_.empty()) meshes_.emplace("stablehlo.mesh", mesh);
  return mesh;
}

std::optional<Mesh> ModuleBuilder::stablehlo_mesh(const TextAttr::Entries& attributes,
                                                  size_t offset) {
  for (const auto& [key, value] : attributes)
    if (key == "stablehlo.mesh" || (key == "mesh" && !value.get<std::string>()))
      return mesh_of(value, offset);
  return std::nullopt;
}

Mesh ModuleBuilder::make_mesh(MeshParts parts, const TextAttr::Entries& extra, size_t offset) {
  const bool ordered = std::is_sorted(parts.ids.begin(), parts.ids.end());
  bool abstract = false;
  for (const auto& [key, value] : extra) {
    if (key == "tessera.abstract") abstract = true;
    if (const auto* array = value.get<TextAttr::Array>(); array && key == "tessera.device_ids") {
      if (array->values.size() != parts.ids.size())
        error_at(offset,
                 fmt::format("expected a device id for each of the {} positions of the mesh",
                             parts.ids.size()));
      parts.ids = array->values;
    }
  }
  if (parts.names.empty()) return Mesh();
  std::map<int64_t, const Device*> by_id;
  for (const Device& device : devices()) by_id[device.id] = &device;
  std::vector<Device> found;
  for (int64_t id : parts.ids)
    if (const auto it = by_id.find(id); it != by_id.end() && !abstract)
      found.push_back(*it->second);
  return located(offset, [&] {
    if (found.size() == parts.ids.size())
      return Mesh(DeviceMesh{parts.sizes, std::move(found)}, parts.names);
    if (!ordered && !abstract)
      error_at(offset, fmt::format("expected the devices that this mesh puts in an order of "
                                   "its own to be there, got {} of {}; "
                                   "start with devices cpu:{}, say",
                                   found.size(), parts.ids.size(), parts.ids.size()));
    return Mesh::abstract(parts.sizes, parts.names);
  });
}

}  // namespace tessera::interchange
