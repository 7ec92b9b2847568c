#include <algorithm>
#include <ostream>

#include "tessera/base/error.h"
#include "tessera/ir/format.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/visualize.h"
#include "tools/commands.h"

namespace tessera::tools {
namespace {

// Returns the most square grid that the network has, without more rows than columns.
DeviceMesh default_mesh() {
  const int64_t n = device_count();
  for (int64_t rows = n; rows > 1; --rows) {
    if (n % rows != 0 || rows * rows > n) continue;
    try {
      return create_device_mesh({rows, n / rows});
    } catch (const UserError&) {  // the grid is not part of this torus
    }
  }
  return create_device_mesh({n}, {.allow_split_physical_axes = true});
}

std::string join(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i)
    line += fmt::format("{}{:<{}}", i ? "  " : "", cells[i], widths[i]);
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

void print_table(const std::vector<std::vector<std::string>>& rows, std::ostream& out) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) out << join(row, widths) << "\n";
}

}  // namespace

void show_devices(const std::string& spec, std::ostream& out) {
  initialize({.devices = spec});
  const std::vector<Device>& all = devices();
  const bool slices =
      std::any_of(all.begin(), all.end(), [](const Device& d) { return d.slice_index > 0; });
  const bool torus = is_tpu(all[0].kind);
  std::vector<std::vector<std::string>> rows = {{"id", "kind", "process"}};
  if (torus) rows[0].insert(rows[0].end(), {"coords", "core"});
  if (slices) rows[0].push_back("slice");
  for (const Device& d : all) {
    rows.push_back({fmt::format("{}", d.id), std::string(kind_name(d.kind)),
                    fmt::format("{}", d.process_index)});
    if (torus) {
      rows.back().push_back(fmt::format("({},{},{})", d.coords[0], d.coords[1], d.coords[2]));
      rows.back().push_back(fmt::format("{}", d.core_on_chip));
    }
    if (slices) rows.back().push_back(fmt::format("{}", d.slice_index));
  }
  print_table(rows, out);

  const DeviceMesh mesh = default_mesh();
  std::vector<std::string> names = {"x", "y"};
  names.resize(mesh.shape.size());
  const Mesh named(mesh, names);
  Shape shape = mesh.shape;
  out << fmt::format("\ncreate_device_mesh({}):\n\n", mesh.shape);
  out << sharding_table(shape, NamedSharding(named, PartitionSpec(names)));
}

}  // namespace tessera::tools
