// Devices that a specification alone does not make: those of a plugin. mesh/ stands below what loads
// plugins (engine/), which installs itself here. Beside mesh/device.h, whose initialize() asks here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/mesh/device.h"

namespace tessera::internal {

using ClientOptions = std::map<std::string, std::string>;

// All devices of the plugin at `path`, ids 0, 1, ..., of a client with these options: the same one
// for the same path and options. Installed once.
using DeviceSource = std::vector<Device> (*)(const std::string& path, const ClientOptions& options);
void set_device_source(DeviceSource source);

// What initialize() is asked for, with what the environment adds to it.
struct DeviceRequest {
  std::string spec;    // a specification, or pjrt:PATH
  std::string plugin;  // the path of the plugin whose devices these are; empty: emulated
  ClientOptions options;

  friend auto operator<=>(const DeviceRequest&, const DeviceRequest&) = default;
};
//   pjrt:PATH                            the devices of the plugin at PATH
//   any other specification              emulated; but where TESSERA_ENGINE is pjrt:PATH, on
//                                        devices of that plugin
// Options that the call does not give are those of TESSERA_CLIENT_OPTIONS: NAME=VALUE, separated by
// commas. UserError where one of these is malformed, and where several processes ask for a plugin.
DeviceRequest device_request(const std::string& spec, const ClientOptions& options);

// The devices of the request. Where a specification is placed on a plugin, they are described as it
// says (kind, coordinates, slices) and computed by the plugin's first ones; UserError where it has
// fewer.
std::vector<Device> find_devices(const DeviceRequest& request);

}  // namespace tessera::internal
