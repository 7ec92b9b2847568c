// The client: the devices of a process as JAX sees them. A device is an emulated one
// (tessera/mesh/device.h). Its memories are kinds that programs name, "device" (the default),
// "pinned_host" and "unpinned_host", as XLA's CPU devices have them; all are the host's memory.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/topology.h"

struct PJRT_Memory {
  int id = 0, kind_id = 0;
  std::string kind, text;
  std::vector<PJRT_Device*> devices;
};
struct PJRT_Device {
  PJRT_Client* client = nullptr;
  PJRT_DeviceDescription description;
  std::array<PJRT_Memory, 3> kinds;
  std::vector<PJRT_Memory*> memories;

  PJRT_Memory* default_memory() { return &kinds[0]; }
  // ApiError for a kind that is none.
  PJRT_Memory* memory(std::string_view kind);
};
struct PJRT_Client {
  // Devices of `spec` (tessera::initialize); empty: the environment's.
  explicit PJRT_Client(const std::string& spec);

  std::string platform = tessera::plugin::kPlatform, version = tessera::plugin::kVersion;
  std::vector<std::unique_ptr<PJRT_Device>> owned;
  std::vector<PJRT_Device*> devices;
  std::vector<PJRT_Memory*> memories;
  PJRT_TopologyDescription topology;  // of these devices
};

namespace tessera::plugin {

// The specification of devices that options of a client ask for: num_devices (an integer) or
// devices (a specification), empty for none. ApiError for others.
std::string device_spec(const PJRT_NamedValue* options, size_t count);

// The names of memory_kinds, the default first.
const std::array<std::string, 3>& memory_kinds();

// Fills in the functions of clients, devices and memories.
void add_client(PJRT_Api& api);

}  // namespace tessera::plugin
