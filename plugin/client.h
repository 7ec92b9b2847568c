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
  int local_id = -1;  // among those of this process; -1: it belongs to another one
  PJRT_DeviceDescription description;
  std::array<tessera::plugin::Memory, 3> kinds;
  std::vector<PJRT_Memory*> memories;  // none if it belongs to another process

  tessera::plugin::Memory* default_memory() { return &kinds[0]; }
  // Throws ApiError for an unknown kind.
  tessera::plugin::Memory* memory(std::string_view kind);
};
namespace tessera::plugin {

// What the options of a client request.
struct ClientRequest {
  std::string devices;          // a specification; empty: that of the environment
  int64_t nodes = 1, node = 0;  // how many processes have one client each, and which this one is
};

}  // namespace tessera::plugin

struct PJRT_Client {
  // Makes the devices of `spec` (tessera::initialize), and those of the other processes of the
  // cluster if this one has joined one; empty: those of the environment.
  explicit PJRT_Client(const std::string& spec);

  std::string platform = tessera::plugin::kPlatform, version = tessera::plugin::kVersion;
  std::vector<std::unique_ptr<PJRT_Device>> owned;
  std::vector<PJRT_Device*> devices;      // of all processes
  std::vector<PJRT_Device*> addressable;  // of this process
  std::vector<PJRT_Memory*> memories;     // of these
  int process_index = 0;
  PJRT_TopologyDescription topology;  // of these devices
};

namespace tessera::plugin {

// Returns what options ask for: num_devices (an integer) or devices (a specification), and num_nodes
// and node_id. Throws ApiError for other options.
ClientRequest client_request(const PJRT_NamedValue* options, size_t count);

// Sets the functions of clients and devices.
void add_client(PJRT_Api& api);

}  // namespace tessera::plugin
