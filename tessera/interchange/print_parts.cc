#include "tessera/interchange/print_parts.h"

#include <algorithm>

#include "tessera/ir/op_def.h"

namespace tessera::interchange {

std::string Symbols::mesh(const Mesh& mesh) {
  for (const auto& [known, name] : meshes)
    if (known == mesh) return name;
  meshes.emplace_back(mesh, unique("mesh"));
  return meshes.back().second;
}

std::string Symbols::function(const FunctionRef& f) {
  for (const auto& [known, name] : functions)
    if (known == f || equal_functions(known, f)) return name;
  functions.emplace_back(f, unique(f->name.empty() ? "f" : f->name));
  return functions.back().second;
}

std::string Symbols::unique(const std::string& name) {
  std::string out = name;
  for (int i = 0; !used_.insert(out).second; ++i) out = fmt::format("{}_{}", name, i);
  return out;
}

TextAttr::Entries argument_attributes(const Type& type) {
  TextAttr::Entries entries;
  if (type.sharding)
    entries.emplace_back("sdy.sharding", TextAttr::Sharding{*type.sharding, type.rank()});
  if (!type.varying.empty())
    entries.emplace_back("tessera.varying", to_text(Attribute(type.varying), nullptr));
  if (type.weak) entries.emplace_back("tessera.weak", TextAttr::Unit{});
  return entries;
}

namespace {

// If one result has a sharding, results without one are printed as open, with their rank.
void add_shardings(const std::vector<Type>& types, TextAttr::Entries& out) {
  const auto other =
      std::find_if(types.begin(), types.end(), [](const Type& t) { return t.sharding != nullptr; });
  if (other == types.end()) return;
  TextAttr::Shardings shardings;
  TextAttr::Array unsharded;
  for (size_t r = 0; r < types.size(); ++r) {
    if (types[r].sharding) {
      shardings.values.push_back(*types[r].sharding);
      continue;
    }
    unsharded.values.push_back(static_cast<int64_t>(r));
    shardings.values.emplace_back(
        other->sharding->mesh(),
        PartitionSpec(std::vector<DimSpec>(types[r].rank(), DimSpec(UNCONSTRAINED))));
  }
  out.emplace_back("sdy.sharding", std::move(shardings));
  if (!unsharded.values.empty()) out.emplace_back("tessera.unsharded", std::move(unsharded));
}

}  // namespace

TextAttr::Entries type_attributes(const Op& op, const Function& function) {
  const std::vector<Type> types = function.types_of(op.results);
  std::vector<Type> inferred;
  try {
    inferred = infer_types(*op.def, function.types_of(op.operands), op.params);
  } catch (const UserError&) {
    inferred.resize(types.size());  // an invalid function is printed, too, for its error message
  }
  inferred.resize(types.size());
  const bool has_weak_field = std::find(op.def->attributes.begin(), op.def->attributes.end(),
                                        "weak_type") != op.def->attributes.end();
  bool weak = false, varying = false;
  TextAttr::List weak_list, varying_list;
  for (size_t r = 0; r < types.size(); ++r) {
    weak = weak || types[r].weak != inferred[r].weak || (has_weak_field && types[r].weak);
    varying = varying || types[r].varying != inferred[r].varying;
    weak_list.items.emplace_back(types[r].weak);
    varying_list.items.push_back(to_text(Attribute(types[r].varying), nullptr));
  }
  TextAttr::Entries out;
  add_shardings(types, out);
  if (varying) out.emplace_back("tessera.varying", std::move(varying_list));
  if (weak) out.emplace_back("tessera.weak", std::move(weak_list));
  return out;
}

TextAttr::Entries mesh_attributes(const Mesh& mesh) {
  TextAttr::Entries out;
  if (mesh.is_abstract()) {
    out.emplace_back("tessera.abstract", TextAttr::Unit{});
    return out;
  }
  const std::vector<int64_t>& ids = mesh.device_ids();
  if (!ids.empty() &&
      *std::max_element(ids.begin(), ids.end()) != static_cast<int64_t>(ids.size()) - 1)
    out.emplace_back("tessera.device_ids", TextAttr::Array{ids});
  return out;
}

}  // namespace tessera::interchange
