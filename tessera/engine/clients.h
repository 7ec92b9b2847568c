// The clients of this process, by the number in Device::client. initialize() makes them, one for
// each plugin and set of options. Clients are never destroyed, because lists of devices never are.
#pragma once

#include "tessera/engine/client.h"
#include "tessera/mesh/sharding.h"

namespace tessera::engine {

// Returns the client, which belongs to the process that made it. Throws RuntimeError in a child of
// a fork.
const Client& client(int64_t number);
// Returns the path of the client's plugin, for messages.
const std::string& plugin_path(int64_t number);

// Returns the number of the client to which the devices belong; 0 for emulated devices. Throws a
// UserError that names `op` if they belong to several.
int64_t client_of(std::string_view op, std::span<const Device> devices);
int64_t client_of(std::string_view op, const Sharding& sharding);

// Returns the kind of a plugin's device.
DeviceKind device_kind(std::string_view platform, std::string_view kind);

}  // namespace tessera::engine
