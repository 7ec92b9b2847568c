// The clients of this process, by the number that Device::client has. initialize() makes them, one
// for each plugin and set of options, and none is ever given up: devices() are for life too.
#pragma once

#include "tessera/engine/client.h"
#include "tessera/mesh/sharding.h"

namespace tessera::engine {

// A client is of the process that made it: RuntimeError in a child of a fork.
const Client& client(int64_t number);
// The path of its plugin, for messages.
const std::string& plugin_path(int64_t number);

// The number of the client that the devices belong to, 0 for emulated ones. UserError naming `op`
// where they are of several.
int64_t client_of(std::string_view op, std::span<const Device> devices);
int64_t client_of(std::string_view op, const Sharding& sharding);

// The kind of a plugin's device.
DeviceKind device_kind(std::string_view platform, std::string_view kind);

}  // namespace tessera::engine
