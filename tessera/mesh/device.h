// Devices: what a program runs on, and the list of them, which the whole process shares. A mesh
// arranges devices(), and a sharding refers to them by id. Devices of the CPU engine are emulated:
// they have the kind, torus coordinates, core, process and slice of the hardware that they emulate,
// so that meshes and collectives are planned as they would be for that hardware. A PJRT plugin
// describes its own devices. In a cluster the devices of all processes are one list.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cluster/cluster.h"

namespace tessera {

enum class DeviceKind : uint8_t {
  kCpu,
  kGpu,
  kTpuV2,
  kTpuV3,
  kTpuV4,
  kTpuV5e,
  kTpuV5p,
  kTpuV6e,
};

bool is_tpu(DeviceKind kind);
// Returns the name in a device specification: "cpu", "tpu_v5e".
std::string_view kind_name(DeviceKind kind);
// Returns the number of devices on one chip: 2 for TPU v2 and v3, 1 for all others (later TPUs fuse
// their cores).
int64_t cores_per_chip(DeviceKind kind);

struct Device {
  int64_t id = 0;  // unique among devices()
  // The process that owns it. Without a cluster, each emulated slice counts as a process.
  int64_t process_index = 0;
  DeviceKind kind = DeviceKind::kCpu;
  // The coordinates of the chip in the torus of its slice, x first; zero if there is no torus.
  std::array<int64_t, 3> coords{};
  int64_t core_on_chip = 0;
  int64_t slice_index = 0;  // slices are connected by the slower network
  int64_t client = 0;       // 0 if emulated on the CPU; otherwise the number of a PJRT client

  // Returns "CPU", "GPU" or "TPU".
  std::string_view platform() const;

  friend bool operator==(const Device&, const Device&) = default;
};

//   CpuDevice(id=0)
//   CudaDevice(id=0)
//   TpuDevice(id=0, process_index=0, coords=(0,0,0), core_on_chip=0)
// If there is more than one slice, the text of a TPU of slice 1 ends in `, slice_index=1)`.
std::ostream& operator<<(std::ostream& out, const Device& device);
size_t hash_value(const Device& device);

// Returns the devices that a specification describes, in order of their ids (slice, then z, y, x,
// core; the last changes fastest).
//
//   SPEC   := cpu:N | gpu:N | TPU:XxY | TPU:XxYxZ, each optionally followed by *SLICES
//   TPU    := tpu_v2 | tpu_v3 | tpu_v4 | tpu_v5e | tpu_v5p | tpu_v6e;  X, Y, Z count chips
//
// `tpu_v2:2x2` is 8 devices (2 cores a chip), `tpu_v4:2x2x4` 16, `tpu_v4:2x2x1*2` two slices of 4.
// Throws a UserError that shows the grammar for anything else.
std::vector<Device> parse_devices(std::string_view spec);

struct InitOptions {
  // A device specification, or `pjrt:PATH` for the devices of a PJRT plugin (docs/accelerators.md).
  // If it is empty, the environment variable TESSERA_DEVICES is used, and without that `cpu:1`.
  std::string devices = {};
  // The processes that compute together. If none are given, the environment variable
  // TESSERA_CLUSTER decides: `mpi`, or `mpi:whole` (with share_devices and gather_reads).
  Cluster cluster = {};
  // Options of a PJRT client, by the names that its plugin knows. Integers, floats, `true` and
  // `false` are passed as such, everything else as text.
  std::map<std::string, std::string> client_options = {};
};

// Sets the devices of the process. It may be called again; existing meshes keep their devices.
// Throws UserError if a specification (in the options or the environment) is malformed, if the
// cluster is another one than before, and, in every process, if processes request different
// devices. The devices do not change then.
void initialize(const InitOptions& options = {});

// Returns the devices of the process, which the first call initializes with the default options.
// The reference stays valid for the life of the process, even if initialize() is called again.
const std::vector<Device>& devices();
int64_t device_count();
// Returns the devices of this process, which are all devices unless there is a cluster.
std::vector<Device> local_devices();
int64_t local_device_count();
// Return the index of this process, and the number of processes of the cluster; 0 and 1 without a
// cluster.
int64_t process_index();
int64_t process_count();

}  // namespace tessera
