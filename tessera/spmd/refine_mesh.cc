#include "tessera/spmd/refine_mesh.h"

#include <algorithm>
#include <set>

#include "tessera/control/manual_boundary.h"
#include "tessera/ir/control_flow.h"
#include "tessera/sharding/atoms.h"

namespace tessera::spmd {
namespace {

using AxisSplits = std::vector<std::set<int64_t>>;  // for each axis: the sizes of its major parts

// Adds the points at which the function's shardings split an axis.
void find_splits(const Mesh& mesh, const Function& f, AxisSplits& splits) {
  auto split = [&](const AxisRef& axis) {
    if (axis.is_whole()) return;
    auto& c = splits[mesh.axis_index(axis.name)];
    c.insert(axis.pre_size);
    c.insert(axis.pre_size * axis.size);
  };
  std::set<const NamedSharding*> seen;
  for (const Type& type : f.types) {
    if (!type.sharding || !seen.insert(type.sharding.get()).second) continue;
    for (int64_t d = 0; d < type.rank(); ++d)
      for (const AxisRef& axis : type.sharding->dim_axes(d)) split(axis);
  }
  for (const Op& op : f.ops) {
    for (const FunctionRef& region : control_regions(op)) find_splits(mesh, *region, splits);
    if (!std::holds_alternative<ManualBorder>(op.def->lower)) continue;
    const auto& p = op.params.as<ManualBoundaryParams>();
    for (const AxisRef& axis : translate_axes("shard_map", whole_axes(p.manual_axes), p.mesh, mesh))
      split(axis);
  }
}

}  // namespace

Mesh refine_mesh(const Mesh& mesh, const Function& f) {
  AxisSplits splits(mesh.rank());
  find_splits(mesh, f, splits);
  if (std::all_of(splits.begin(), splits.end(), [](const auto& c) { return c.empty(); }))
    return mesh;
  Shape sizes;
  std::vector<std::string> names;
  for (int64_t a = 0; a < mesh.rank(); ++a) {
    const int64_t whole = mesh.axis_sizes()[a];
    splits[a].insert(1);
    splits[a].insert(whole);
    int part = 0;  // the number of the part in its name: x/0, x/1, ..., major first
    for (auto it = splits[a].begin(); std::next(it) != splits[a].end(); ++it) {
      const int64_t size = *std::next(it) / *it;
      sizes.push_back(size);
      names.push_back(size == whole ? mesh.axis_names()[a]
                                    : fmt::format("{}/{}", mesh.axis_names()[a], part++));
    }
    if (whole == 1) {
      sizes.push_back(1);
      names.push_back(mesh.axis_names()[a]);
    }
  }
  if (mesh.is_abstract()) return Mesh::abstract(sizes, names);
  return Mesh(DeviceMesh{sizes, mesh.devices()}, names);
}

}  // namespace tessera::spmd
