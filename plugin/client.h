// The client: the devices of a process, for JAX. Each device is an emulated one
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
  int local_id = -1;  // among the devices of this process; -1: of another process
  PJRT_DeviceDescription description;
  std::array<tessera::plugin::Memory, 3> kinds;
  std::vector<PJRT_Memory*> memories;  // empty if it is a device of another process

  tessera::plugin::Memory* default_memory() { return &kinds[0]; }
  // Returns the memory of this kind. Throws ApiError for an unknown kind.
  tessera::plugin::Memory* memory(std::string_view kind);
};
namespace tessera::plugin {

// The request in the options of a client.
struct ClientRequest {
  std::string devices;          // a specification; empty: that of the environment
  int64_t nodes = 1, node = 0;  // the number of processes, and of this one
};

}  // namespace tessera::plugin

struct PJRT_Client {
  // Makes the devices of `spec` (tessera::initialize); if it is empty, those of the environment. If
  // this process has joined a cluster, also makes the devices of its other processes.
  explicit PJRT_Client(const std::string& spec);

  std::string platform = tessera::plugin::kPlatform, version = tessera::plugin::kVersion;
  std::vector<std::unique_ptr<PJRT_Device>> owned;
  std::vector<PJRT_Device*> devices;      // of all processes
  std::vector<PJRT_Device*> addressable;  // of this process
  std::vector<PJRT_Memory*> memories;     // of the addressable devices
  int process_index = 0;
  PJRT_TopologyDescription topology;  // of all devices
};

namespace tessera::plugin {

// Returns the request of options: num_devices (an integer) or devices (a specification), and
// num_nodes and node_id. Throws ApiError for other options.
ClientRequest client_request(const PJRT_NamedValue* options, size_t count);

// Sets the functions of clients and devices.
void add_client(PJRT_Api& api);

}  // namespace tessera::plugin
