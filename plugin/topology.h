// Topologies: devices that programs are compiled for. They are the client's devices, or others that
// do not exist here (jax.experimental.topologies).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/pjrt.h"
#include "tessera/mesh/device.h"

struct PJRT_DeviceDescription {
  tessera::Device device;
  int process_index = 0;  // as JAX numbers processes
  std::string kind, text;
  std::string name;                         // as XLA says it, cpu:0: checkpoints name a device so
  std::vector<PJRT_NamedValue> attributes;  // coords, core_on_chip and slice_index of TPUs
};
struct PJRT_TopologyDescription {
  std::string platform, version;
  std::string spec;  // for tessera::parse_devices; empty: the process's own devices
  std::vector<std::unique_ptr<PJRT_DeviceDescription>> devices;
  std::vector<PJRT_DeviceDescription*> descriptions;  // of `devices`
};
struct PJRT_SerializedTopology {
  std::string bytes;
};

namespace tessera::plugin {

inline constexpr const char* kPlatform = "tessera";
extern const char* const kVersion;  // the version of Tessera in CMakeLists.txt

// Sets `out`. Its attributes point into `out.device`, so it must not move.
void describe_device(const Device& device, PJRT_DeviceDescription& out);
PJRT_TopologyDescription describe_topology(std::string spec, const std::vector<Device>& devices);

// Sets the functions for topologies, and PJRT_Compile.
void add_topologies(PJRT_Api& api);

}  // namespace tessera::plugin
