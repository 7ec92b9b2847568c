#include "tessera/sharding/finer_mesh.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/control/control.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/sharding/flatten_regions.h"

namespace tessera::sharding {

Mesh finer_mesh(const Mesh& mesh, const AxisSizes& sizes) {
  Shape fine = mesh.axis_sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto& [name, size] = sizes[i];
    if (!mesh.has_axis(name))
      sharding_error("jit", "expected compute_as to name axes of {}, got '{}'", mesh, name);
    for (size_t earlier = 0; earlier < i; ++earlier)
      if (sizes[earlier].first == name)
        sharding_error("jit",
                       "expected compute_as to name each axis once, got '{}' with {} and with {}; "
                       "keep one of them",
                       name, sizes[earlier].second, size);
    const int64_t d = mesh.axis_index(name), have = mesh.axis_size(name);
    if (size < 1 || size % have != 0)
      sharding_error("jit",
                     "expected compute_as to give axis '{}' a multiple of its {} device{}, got {}",
                     name, have, have == 1 ? "" : "s", size);
    fine[d] = size;
  }
  if (mesh.is_abstract()) return Mesh::abstract(fine, mesh.axis_names());
  // The mesh has the same devices whatever the real number of devices is, because the cost of a
  // program must not depend on that number either.
  std::vector<Device> devices(static_cast<size_t>(fine.elements()));
  for (size_t i = 0; i < devices.size(); ++i) {
    devices[i].id = static_cast<int64_t>(i);
    devices[i].kind = mesh.devices()[0].kind;
  }
  return Mesh(DeviceMesh{fine, std::move(devices)}, mesh.axis_names());
}

NamedSharding on_finer_mesh(const NamedSharding& sharding, const AxisSizes& sizes) {
  return NamedSharding(finer_mesh(sharding.mesh(), sizes), sharding.spec());
}

Function on_finer_mesh(const Function& function, const AxisSizes& sizes) {
  Function out = flatten_regions(function);
  for (Type& type : out.types)
    if (type.sharding)
      type.sharding = std::make_shared<NamedSharding>(on_finer_mesh(*type.sharding, sizes));
  for (Op& op : out.ops) {
    if (std::holds_alternative<ManualBorder>(op.def->lower))
      sharding_error("jit",
                     "expected a program without shard_map where compute_as is given, got one{}; "
                     "give its mesh the wanted size instead",
                     op.source.empty() ? "" : " at " + op.source);
    if (std::holds_alternative<Constraint>(op.def->lower))
      op.params = ShardingConstraintParams{
          on_finer_mesh(op.params.as<ShardingConstraintParams>().sharding, sizes)};
    op.params = map_control_regions(
        op, [&](const Function& region) { return on_finer_mesh(region, sizes); });
  }
  return out;
}

ShardingRequest on_finer_mesh(const ShardingRequest& request) {
  ShardingRequest out{request.inputs, request.outputs};
  for (auto* list : {&out.inputs, &out.outputs})
    for (std::optional<NamedSharding>& s : *list)
      if (s) s = on_finer_mesh(*s, request.compute_as);
  return out;
}

NamedSharding on_coarser_mesh(const NamedSharding& sharding, const Mesh& mesh) {
  std::vector<DimSpec> dims;
  for (int64_t d = 0; d < sharding.spec().rank(); ++d) {
    const std::vector<AxisRef>& axes = sharding.dim_axes(d);
    const bool whole =
        std::all_of(axes.begin(), axes.end(), [](const AxisRef& axis) { return axis.is_whole(); });
    dims.push_back(whole ? DimSpec(axes) : DimSpec(None));
  }
  return NamedSharding(mesh, PartitionSpec(std::move(dims)));
}

}  // namespace tessera::sharding
