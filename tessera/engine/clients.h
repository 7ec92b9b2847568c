// The clients of this process, by the number in Device::client. initialize() makes them, one for
// each plugin and set of options. None is ever destroyed, since devices() live for ever, too.
#pragma once

#include "tessera/engine/client.h"
#include "tessera/mesh/sharding.h"

namespace tessera::engine {

// Returns the client, which belongs to the process that made it: throws RuntimeError in a child of
// a fork.
const Client& client(int64_t number);
// Returns the path of its plugin, for messages.
const std::string& plugin_path(int64_t number);

// Returns the number of the client that the devices belong to, 0 for emulated ones. Throws a
// UserError that names `op` if they belong to several.
int64_t client_of(std::string_view op, std::span<const Device> devices);
int64_t client_of(std::string_view op, const Sharding& sharding);

// Returns the kind of a plugin's device.
DeviceKind device_kind(std::string_view platform, std::string_view kind);

}  // namespace tessera::engine
