// The order in which the meshes of a program list their devices.
//
// The meshes of a program may list the same devices in different orders. All devices share one
// memory, so it does not matter which of them computes what: the program is planned for one order,
// and which part of an argument or result a device holds follows from the mesh that the program
// used for it. The functions here also handle calls of programs that were exported for one device,
// whose shardings are ignored.
#pragma once

#include <vector>

#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

struct OrderedModule {
  interchange::ParsedModule module;
  // For each argument and result: the device at each position of its mesh; empty: as in the module.
  std::vector<std::vector<int64_t>> input_ids, output_ids;
};

// Returns the module with all meshes in the order of device ids. It is unchanged if they already
// list one order, or differ in more than the order. If there are larger meshes, shardings over a
// mesh of one device are left to propagation.
OrderedModule with_one_device_order(interchange::ParsedModule module);

// Returns the module with by_partition[k] in place of device k in all meshes. In a cluster, the
// devices determine which process runs which partition.
interchange::ParsedModule on_devices(interchange::ParsedModule module,
                                     const std::vector<Device>& by_partition);

}  // namespace tessera::plugin
