// The client: the devices of a process for JAX. A device is an emulated one
// (tessera/mesh/device.h), with memories of its own (memory.h).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/memory.h"
#include "plugin/topology.h"

struct PJRT_Device {
  PJRT_Client* client = nullptr;
  PJRT_DeviceDescription description;
  std::array<tessera::plugin::Memory, 3> kinds;
  std::vector<PJRT_Memory*> memories;

  tessera::plugin::Memory* default_memory() { return &kinds[0]; }
  // Throws ApiError for an unknown kind.
  tessera::plugin::Memory* memory(std::string_view kind);
};
struct PJRT_Client {
  // Makes the devices of `spec` (tessera::initialize); empty: those of the environment.
  explicit PJRT_Client(const std::string& spec);

  std::string platform = tessera::plugin::kPlatform, version = tessera::plugin::kVersion;
  std::vector<std::unique_ptr<PJRT_Device>> owned;
  std::vector<PJRT_Device*> devices;
  std::vector<PJRT_Memory*> memories;
  PJRT_TopologyDescription topology;  // of these devices
};

namespace tessera::plugin {

// Returns the device specification in the options of a client: num_devices (an integer) or devices
// (a specification); empty if there is none. Throws ApiError for other options.
std::string device_spec(const PJRT_NamedValue* options, size_t count);

// Sets the functions of clients and devices.
void add_client(PJRT_Api& api);

}  // namespace tessera::plugin
