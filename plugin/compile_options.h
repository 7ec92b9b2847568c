// The options of a compilation by JAX: the fields of XLA's CompileOptionsProto that matter here,
// read from protobuf's wire format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::plugin {

struct CompileOptions {
  int64_t num_replicas = 1, num_partitions = 1;
  // Device ids: partition p of replica 0 runs on device_assignment[p]. Empty: the default
  // assignment.
  std::vector<int64_t> device_assignment;
  std::vector<std::string> overrides;  // the names of compiler_options passed to jax.jit
};

// Returns the DeviceAssignmentProto of one replica with partition p on device_ids[p].
std::string device_assignment_proto(const std::vector<int64_t>& device_ids);

// Returns the options. Throws ApiError for bytes that are not such a message, and for options that
// neither Tessera nor XLA has. Options that tune XLA (its flags xla_..., and its effort) are
// ignored.
CompileOptions parse_compile_options(std::string_view bytes);

}  // namespace tessera::plugin
