// Devices that need more than a specification: those of a plugin. engine/ loads plugins; because it
// depends on mesh/, it registers itself here. initialize() in mesh/device.h calls these functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/mesh/device.h"

namespace tessera::internal {

using ClientOptions = std::map<std::string, std::string>;

// Returns all devices of the plugin at `path`, with ids 0, 1, ..., as a client with these options
// has them. Equal paths and options share one client. The source is installed once.
using DeviceSource = std::vector<Device> (*)(const std::string& path, const ClientOptions& options);
void set_device_source(DeviceSource source);
// From now on TESSERA_ENGINE is not read. For the library that is a PJRT plugin itself: the
// variable may name it.
void ignore_engine();

// The devices that initialize() should make, including what the environment says.
struct DeviceRequest {
  std::string spec;    // a specification, or pjrt:PATH
  std::string plugin;  // the path of the plugin that owns the devices; empty if they are emulated
  ClientOptions options;

  friend auto operator<=>(const DeviceRequest&, const DeviceRequest&) = default;
};
// Returns the request. `spec` is one of
//   pjrt:PATH                the devices of the plugin at PATH
//   any other specification  emulated devices; if TESSERA_ENGINE is pjrt:PATH, devices of that
//                            plugin
// Options that the call does not set are those of TESSERA_CLIENT_OPTIONS: NAME=VALUE, separated by
// commas. Throws UserError if one of these is malformed, and if several processes request a plugin.
DeviceRequest device_request(const std::string& spec, const ClientOptions& options);

// Returns the devices of the request. If a specification is combined with a plugin, the devices
// have the kind, coordinates and slices of the specification, and the first devices of the plugin
// compute for them. Throws UserError if the plugin has fewer.
std::vector<Device> find_devices(const DeviceRequest& request);

}  // namespace tessera::internal
