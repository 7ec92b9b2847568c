#include "plugin/device_order.h"

#include <algorithm>
#include <map>

#include "tessera/ir/control_flow.h"
#include "tessera/mesh/device_mesh.h"

namespace tessera::plugin {
namespace {

using ir::Attribute;
using ir::Function;
using ir::FunctionRef;

std::vector<int64_t> sorted(std::vector<int64_t> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

// Whether these meshes are of the same devices in different orders.
bool differ_in_order(const std::vector<Mesh>& meshes) {
  const Mesh* first = nullptr;
  bool differ = false;
  for (const Mesh& mesh : meshes) {
    if (mesh.rank() == 0) continue;
    if (mesh.is_abstract()) return false;
    if (!first) first = &mesh;
    if (sorted(mesh.device_ids()) != sorted(first->device_ids())) return false;
    differ |= mesh.device_ids() != first->device_ids();
  }
  return differ;
}

// Rewrites what mentions meshes.
class Ordering {
 public:
  Function function(const Function& f) {
    Function out = f;
    for (ir::Type& type : out.types)
      if (type.sharding) type.sharding = std::make_shared<const NamedSharding>(at(*type.sharding));
    for (ir::Op& op : out.ops) {
      std::vector<Attribute> fields = op.params.fields();
      for (Attribute& field : fields) rewrite(field);
      op.params = op.params.with_fields(fields);
    }
    return out;
  }
  NamedSharding at(const NamedSharding& sharding) const {
    return NamedSharding(at(sharding.mesh()), sharding.spec());
  }

 private:
  Mesh at(const Mesh& mesh) const {
    if (mesh.rank() == 0) return mesh;
    std::vector<Device> devices = mesh.devices();
    std::sort(devices.begin(), devices.end(),
              [](const Device& a, const Device& b) { return a.id < b.id; });
    return Mesh(DeviceMesh{mesh.axis_sizes(), std::move(devices)}, mesh.axis_names());
  }
  FunctionRef at(const FunctionRef& f) {
    if (!f) return f;
    FunctionRef& out = done_[f];
    if (!out) out = std::make_shared<const Function>(function(*f));
    return out;
  }
  void rewrite(Attribute& field) {
    if (auto* mesh = std::get_if<Mesh>(&field)) *mesh = at(*mesh);
    if (auto* sharding = std::get_if<NamedSharding>(&field)) *sharding = at(*sharding);
    if (auto* f = std::get_if<FunctionRef>(&field)) *f = at(*f);
    if (auto* functions = std::get_if<std::vector<FunctionRef>>(&field))
      for (FunctionRef& f : *functions) f = at(f);
  }

  std::map<FunctionRef, FunctionRef> done_;
};

}  // namespace

OrderedModule with_one_device_order(ir::ParsedModule module) {
  OrderedModule out;
  out.input_ids.resize(module.input_shardings.size());
  out.output_ids.resize(module.output_shardings.size());
  if (differ_in_order(module.meshes)) {
    Ordering ordering;
    const auto order = [&](std::vector<std::optional<NamedSharding>>& shardings,
                           std::vector<std::vector<int64_t>>& ids) {
      for (size_t i = 0; i < shardings.size(); ++i) {
        if (!shardings[i]) continue;
        ids[i] = shardings[i]->mesh().device_ids();
        shardings[i] = ordering.at(*shardings[i]);
      }
    };
    order(module.input_shardings, out.input_ids);
    order(module.output_shardings, out.output_ids);
    module.main = ordering.function(module.main);
  }
  out.module = std::move(module);
  return out;
}

}  // namespace tessera::plugin
