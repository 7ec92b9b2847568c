// The client: the devices of a process as JAX sees them. A device is an emulated one
// (tessera/mesh/device.h) with one memory; all share the host's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/pjrt.h"
#include "tessera/mesh/device.h"

struct PJRT_DeviceDescription {
  tessera::Device device;
  std::string kind, text;
};
struct PJRT_Memory {
  int id = 0;
  std::string kind, text;
  std::vector<PJRT_Device*> devices;
};
struct PJRT_Device {
  PJRT_Client* client = nullptr;
  PJRT_DeviceDescription description;
  PJRT_Memory memory;
  std::vector<PJRT_Memory*> memories;
};
struct PJRT_TopologyDescription {
  std::string platform, version;
  std::vector<PJRT_DeviceDescription*> descriptions;
};
struct PJRT_Client {
  // Devices of `spec` (tessera::initialize); empty: the environment's.
  explicit PJRT_Client(const std::string& spec);

  std::string platform = "tessera", version;
  std::vector<std::unique_ptr<PJRT_Device>> owned;
  std::vector<PJRT_Device*> devices;
  std::vector<PJRT_Memory*> memories;
  PJRT_TopologyDescription topology;
};

namespace tessera::plugin {

// The specification of devices that options of a client ask for: num_devices (an integer) or
// devices (a specification), empty for none. ApiError for others.
std::string device_spec(const PJRT_NamedValue* options, size_t count);

// Fills in the functions of clients, devices, memories and topologies.
void add_client(PJRT_Api& api);

}  // namespace tessera::plugin
