// Devices: what a program runs on, and the process-wide list of them. First stop of every program:
// a mesh arranges devices(), a sharding refers to them by id. Devices of the CPU engine are emulated:
// they carry the kind, the torus coordinates, the core, the process and the slice of the hardware
// they stand for, so that meshes and collectives are planned as there. Those of a PJRT plugin are
// what it says they are. In a cluster the devices of all processes are one list.
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
// The name in a device specification: "cpu", "tpu_v5e".
std::string_view kind_name(DeviceKind kind);
// Devices on one chip: 2 for TPU v2 and v3, 1 for all others (later TPUs fuse their cores).
int64_t cores_per_chip(DeviceKind kind);

struct Device {
  int64_t id = 0;             // unique among devices()
  int64_t process_index = 0;  // whose it is; without a cluster an emulated slice counts as one
  DeviceKind kind = DeviceKind::kCpu;
  // Of the chip in its slice's torus, x first; zero where there is no torus.
  std::array<int64_t, 3> coords{};
  int64_t core_on_chip = 0;
  int64_t slice_index = 0;  // slices are joined by the slower network
  int64_t client = 0;       // 0: emulated on the CPU; otherwise the number of a PJRT client

  // "CPU", "GPU" or "TPU".
  std::string_view platform() const;

  friend bool operator==(const Device&, const Device&) = default;
};

//   CpuDevice(id=0)
//   CudaDevice(id=0)
//   TpuDevice(id=0, process_index=0, coords=(0,0,0), core_on_chip=0)
// With more than one slice a TPU's line ends in `slice_index=1`.
std::ostream& operator<<(std::ostream& out, const Device& device);
size_t hash_value(const Device& device);

// The devices that a specification describes, in order of id (slice, then z, y, x, core; the last
// changes fastest).
//
//   SPEC   := cpu:N | gpu:N | TPU:XxY | TPU:XxYxZ, each optionally followed by *SLICES
//   TPU    := tpu_v2 | tpu_v3 | tpu_v4 | tpu_v5e | tpu_v5p | tpu_v6e;  X, Y, Z count chips
//
// `tpu_v2:2x2` is 8 devices (2 cores a chip), `tpu_v4:2x2x4` 16, `tpu_v4:2x2x1*2` two slices of 4.
// UserError naming the grammar for anything else.
std::vector<Device> parse_devices(std::string_view spec);

struct InitOptions {
  // A device specification, or `pjrt:PATH` for the devices of a PJRT plugin (docs/accelerators.md);
  // empty: the environment variable TESSERA_DEVICES, and without it `cpu:1`.
  std::string devices = {};
  // The processes that compute together; alone: what the environment variable TESSERA_CLUSTER says,
  // `mpi` or `mpi:whole` (share_devices and gather_reads).
  Cluster cluster = {};
  // Of a PJRT client, by the names its plugin knows: integers, floats, `true` and `false` are
  // passed as such, all else as text.
  std::map<std::string, std::string> client_options = {};
};

// Sets the devices of the process. May be called again: meshes made before keep the devices they
// were made of. UserError for a malformed specification (of options or environment), for another
// cluster than before and, in every process, where processes ask for different devices; the devices
// are then as before.
void initialize(const InitOptions& options = {});

// The devices of the process; initializes with the defaults at first use. The reference stays valid
// for the life of the process, also when initialize() is called again.
const std::vector<Device>& devices();
int64_t device_count();
// Those of this process: all of them unless there is a cluster.
std::vector<Device> local_devices();
int64_t local_device_count();
// Of the cluster; 0 of 1 without one.
int64_t process_index();
int64_t process_count();

}  // namespace tessera
