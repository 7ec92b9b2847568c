// The CompileOptionsProto of a device program, in protobuf's wire format.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tessera/base/namespaces.h"

namespace tessera::engine {

// Returns the options for one partition of devices.size() replicas, with replica p on the plugin's
// device devices[p].
std::string compile_options(std::span<const int64_t> devices);

}  // namespace tessera::engine
