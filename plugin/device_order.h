// Which devices the meshes of a program list.
//
// Programs whose meshes list the same devices in different orders: all devices share one memory, so
// it makes no difference which of them does what: the program is planned for one order, and which
// part of an argument or result each device holds follows the mesh that it was written with. It
// also handles programs that call others which were exported for one device, whose shardings are
// ignored.
#pragma once

#include <vector>

#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

struct OrderedModule {
  interchange::ParsedModule module;
  // For each argument and result the device at each position of its mesh; empty: as in the module.
  std::vector<std::vector<int64_t>> input_ids, output_ids;
};

// Returns the module with all meshes in the order of ids. It is unchanged if they list the same
// order already, or differ in more than the order. Shardings over a mesh of one device beside
// larger ones are left to propagation.
OrderedModule with_one_device_order(interchange::ParsedModule module);

// Returns the module with all meshes on these devices: where a mesh lists device k, on
// by_partition[k]. In a cluster the devices say which process runs which partition.
interchange::ParsedModule on_devices(interchange::ParsedModule module,
                                     const std::vector<Device>& by_partition);

}  // namespace tessera::plugin
