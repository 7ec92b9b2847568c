// The options of a compilation by JAX: the fields of XLA's CompileOptionsProto that matter here,
// read from protobuf's wire format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::plugin {

struct CompileOptions {
  // One of them is 1: a program has several partitions, or several replicas (replicas.h).
  int64_t num_replicas = 1, num_partitions = 1;
  // Device ids: partition or replica p runs on device_assignment[p]. Empty: the default assignment.
  std::vector<int64_t> device_assignment;
  std::vector<std::string> overrides;  // the names of compiler_options passed to jax.jit

  int64_t num_devices() const { return num_replicas * num_partitions; }
  // Returns the id of the device that runs partition or replica p.
  int64_t device_id(int64_t p) const {
    return device_assignment.empty() ? p : device_assignment.at(static_cast<size_t>(p));
  }
};

// Returns the DeviceAssignmentProto with partition p, or if `replicas`, replica p on device_ids[p].
std::string device_assignment_proto(const std::vector<int64_t>& device_ids, bool replicas);

// Returns the options. Throws ApiError for bytes that are not such a message, and for options that
// neither Tessera nor XLA has, or for several replicas of several partitions. Options that tune XLA
// (its flags xla_..., and its effort) are ignored.
CompileOptions parse_compile_options(std::string_view bytes);

}  // namespace tessera::plugin
