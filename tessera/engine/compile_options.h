// The CompileOptionsProto of a device program, in protobuf's wire format.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tessera::engine {

// One replica of devices.size() partitions, partition p on the plugin's device devices[p], of a
// program that is partitioned already.
std::string compile_options(std::span<const int64_t> devices);

}  // namespace tessera::engine
