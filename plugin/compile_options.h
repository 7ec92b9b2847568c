// The options of a compilation by JAX: the fields of XLA's CompileOptionsProto that have a meaning
// here, read from its wire format (protobuf's).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::plugin {

struct CompileOptions {
  int64_t num_replicas = 1, num_partitions = 1;
  // By device ids: partition p of replica 0 runs on device_assignment[p]. Empty: the default.
  std::vector<int64_t> device_assignment;
  std::vector<std::string> overrides;  // the names of compiler_options passed to jax.jit
};

// Returns the DeviceAssignmentProto of one replica whose partition p runs on device_ids[p].
std::string device_assignment_proto(const std::vector<int64_t>& device_ids);

// Throws ApiError for bytes that are no such message, and for options that neither Tessera nor XLA
// has. Options that tune XLA (its flags xla_..., and how hard it tries) are ignored.
CompileOptions parse_compile_options(std::string_view bytes);

}  // namespace tessera::plugin
