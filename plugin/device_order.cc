#include "plugin/device_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "plugin/error.h"
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

// Returns whether these meshes have the same devices, but not all in the same order.
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

Mesh in_order(const Mesh& mesh) {
  if (mesh.rank() == 0) return mesh;
  std::vector<Device> devices = mesh.devices();
  std::sort(devices.begin(), devices.end(),
            [](const Device& a, const Device& b) { return a.id < b.id; });
  return Mesh(DeviceMesh{mesh.axis_sizes(), std::move(devices)}, mesh.axis_names());
}
NamedSharding in_order(const NamedSharding& sharding) {
  return NamedSharding(in_order(sharding.mesh()), sharding.spec());
}

// Returns a mesh of several devices if there is also a mesh of one device; otherwise null.
const Mesh* larger_mesh(const std::vector<Mesh>& meshes) {
  const Mesh* larger = nullptr;
  bool single = false;
  for (const Mesh& mesh : meshes) {
    if (mesh.rank() == 0) continue;
    single |= mesh.size() == 1;
    if (mesh.size() > 1) larger = &mesh;
  }
  return single ? larger : nullptr;
}

// Rewrites all shardings and meshes in a function.
class Rewriter {
 public:
  Rewriter(std::function<NamedSharding(const NamedSharding&)> sharding,
           std::function<Mesh(const Mesh&)> mesh)
      : sharding_(std::move(sharding)), mesh_(std::move(mesh)) {}

  Function function(const Function& f) {
    Function out = f;
    for (ir::Type& type : out.types)
      if (type.sharding)
        type.sharding = std::make_shared<const NamedSharding>(sharding_(*type.sharding));
    for (ir::Op& op : out.ops) {
      std::vector<Attribute> fields = op.params.fields();
      for (Attribute& field : fields) rewrite(field);
      op.params = op.params.with_fields(fields);
    }
    return out;
  }

 private:
  FunctionRef at(const FunctionRef& f) {
    if (!f) return f;
    FunctionRef& out = done_[f];
    if (!out) out = std::make_shared<const Function>(function(*f));
    return out;
  }
  void rewrite(Attribute& field) {
    if (auto* mesh = std::get_if<Mesh>(&field)) *mesh = mesh_(*mesh);
    if (auto* sharding = std::get_if<NamedSharding>(&field)) *sharding = sharding_(*sharding);
    if (auto* f = std::get_if<FunctionRef>(&field)) *f = at(*f);
    if (auto* functions = std::get_if<std::vector<FunctionRef>>(&field))
      for (FunctionRef& f : *functions) f = at(f);
  }

  std::function<NamedSharding(const NamedSharding&)> sharding_;
  std::function<Mesh(const Mesh&)> mesh_;
  std::map<FunctionRef, FunctionRef> done_;
};

// Drops shardings on one device if there is a larger mesh: they mean nothing for its devices.
void free_single_device_shardings(interchange::ParsedModule& module) {
  const Mesh* found = larger_mesh(module.meshes);
  if (!found) return;
  const Mesh larger = *found;
  const auto freed = [&](const NamedSharding& sharding) {
    if (sharding.mesh().rank() == 0 || sharding.mesh().size() > 1) return sharding;
    const auto rank = static_cast<size_t>(sharding.spec().rank());
    return NamedSharding(larger, PartitionSpec(std::vector<DimSpec>(rank, UNCONSTRAINED)));
  };
  for (auto* shardings : {&module.input_shardings, &module.output_shardings})
    for (std::optional<NamedSharding>& sharding : *shardings)
      if (sharding && sharding->mesh().rank() > 0 && sharding->mesh().size() == 1) sharding.reset();
  module.main = Rewriter(freed, [](const Mesh& mesh) { return mesh; }).function(module.main);
  std::erase_if(module.meshes, [](const Mesh& m) { return m.rank() > 0 && m.size() == 1; });
}

}  // namespace

OrderedModule with_one_device_order(interchange::ParsedModule module) {
  OrderedModule out;
  out.input_ids.resize(module.input_shardings.size());
  out.output_ids.resize(module.output_shardings.size());
  free_single_device_shardings(module);
  if (differ_in_order(module.meshes)) {
    const auto order = [&](std::vector<std::optional<NamedSharding>>& shardings,
                           std::vector<std::vector<int64_t>>& ids) {
      for (size_t i = 0; i < shardings.size(); ++i) {
        if (!shardings[i]) continue;
        ids[i] = shardings[i]->mesh().device_ids();
        shardings[i] = in_order(*shardings[i]);
      }
    };
    order(module.input_shardings, out.input_ids);
    order(module.output_shardings, out.output_ids);
    module.main = Rewriter([](const NamedSharding& x) { return in_order(x); },
                           [](const Mesh& x) { return in_order(x); })
                      .function(module.main);
  }
  out.module = std::move(module);
  return out;
}

interchange::ParsedModule on_devices(interchange::ParsedModule module,
                                     const std::vector<Device>& by_partition) {
  const auto mesh = [&](const Mesh& of_partitions) {
    if (of_partitions.rank() == 0 || of_partitions.is_abstract()) return of_partitions;
    std::vector<Device> devices;
    for (int64_t id : of_partitions.device_ids()) {
      if (id < 0 || id >= static_cast<int64_t>(by_partition.size()))
        invalid(fmt::format("[compile] expected a mesh of the devices 0 to {}, got one with {}",
                            by_partition.size() - 1, id));
      devices.push_back(by_partition[static_cast<size_t>(id)]);
    }
    return Mesh(DeviceMesh{of_partitions.axis_sizes(), std::move(devices)},
                of_partitions.axis_names());
  };
  const auto sharding = [&](const NamedSharding& of_partitions) {
    return NamedSharding(mesh(of_partitions.mesh()), of_partitions.spec());
  };
  for (auto* shardings : {&module.input_shardings, &module.output_shardings})
    for (std::optional<NamedSharding>& one : *shardings)
      if (one) one = sharding(*one);
  for (Mesh& one : module.meshes) one = mesh(one);
  module.main = Rewriter(sharding, mesh).function(module.main);
  return module;
}

}  // namespace tessera::plugin
