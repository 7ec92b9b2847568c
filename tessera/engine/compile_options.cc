#include "tessera/engine/compile_options.h"

namespace tessera::engine {
namespace {

// https://protobuf.dev/programming-guides/encoding
void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}
void put(std::string& out, int field, uint64_t value) {
  put_varint(out, static_cast<uint64_t>(field) << 3);
  put_varint(out, value);
}
void put(std::string& out, int field, const std::string& message) {
  put_varint(out, static_cast<uint64_t>(field) << 3 | 2);
  put_varint(out, message.size());
  out += message;
}

}  // namespace

std::string compile_options(std::span<const int64_t> devices) {
  // DeviceAssignmentProto: 1 replica_count, 2 computation_count, 3 computation_devices { 1
  // replica_device_ids }, one for each partition.
  std::string computation, assignment;
  for (const int64_t device : devices) put(computation, 1, static_cast<uint64_t>(device));
  put(assignment, 1, devices.size());
  put(assignment, 2, uint64_t{1});
  put(assignment, 3, computation);
  // ExecutableBuildOptionsProto: 1 device_ordinal, of which -1 means the assignment; 4
  // num_replicas, 5 num_partitions, 9 device_assignment.
  std::string build;
  put(build, 1, static_cast<uint64_t>(int64_t{-1}));
  put(build, 4, devices.size());
  put(build, 5, uint64_t{1});
  put(build, 9, assignment);
  // CompileOptionsProto: 3 executable_build_options.
  std::string out;
  put(out, 3, build);
  return out;
}

}  // namespace tessera::engine
