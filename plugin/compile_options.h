// What JAX asks of a compilation: the fields of XLA's CompileOptionsProto that mean something here,
// read from its wire format (protobuf's).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::plugin {

struct CompileOptions {
  int64_t num_replicas = 1, num_partitions = 1;
  // Of device ids: partition p of replica 0 runs on device_assignment[p]. Empty: the default.
  std::vector<int64_t> device_assignment;
  std::vector<std::string> overrides;  // names of compiler_options that jax.jit was given
};

// The DeviceAssignmentProto of one replica whose partition p runs on device_ids[p].
std::string device_assignment_proto(const std::vector<int64_t>& device_ids);

// ApiError for bytes that are no such message, and for options that neither Tessera nor XLA has. What
// tunes XLA (its flags xla_..., and how hard it tries) changes nothing here.
CompileOptions parse_compile_options(std::string_view bytes);

}  // namespace tessera::plugin
