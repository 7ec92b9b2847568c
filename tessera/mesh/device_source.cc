#include "tessera/mesh/device_source.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "tessera/cluster/processes.h"
#include "tessera/mesh/format.h"

namespace tessera::internal {
namespace {

std::atomic<DeviceSource> device_source{nullptr};
std::atomic<bool> is_engine_ignored{false};

constexpr std::string_view kPlugin = "pjrt:";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string plugin_path(std::string_view where, std::string_view spec) {
  const std::string path(spec.substr(kPlugin.size()));
  if (path.empty())
    value_error("initialize", "expected {} to name a plugin, as pjrt:PATH, got '{}'; add its path",
                where, spec);
  return path;
}

ClientOptions parse_options(std::string_view text) {
  ClientOptions out;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      value_error(
          "initialize",
          "expected TESSERA_CLIENT_OPTIONS to be NAME=VALUE, separated by commas, got '{}'; "
          "for example cpu_device_count=8",
          entry);
    out[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
  }
  return out;
}

}  // namespace

void set_device_source(DeviceSource source) { device_source = source; }
void ignore_engine() { is_engine_ignored = true; }

DeviceRequest device_request(const std::string& spec, const ClientOptions& options) {
  DeviceRequest out{.spec = spec};
  if (out.spec.starts_with(kPlugin)) {
    out.plugin = plugin_path("the specification", out.spec);
  } else if (const std::string engine = environment("TESSERA_ENGINE");
             !engine.empty() && !is_engine_ignored) {
    if (!engine.starts_with(kPlugin))
      value_error("initialize",
                  "expected TESSERA_ENGINE to be pjrt:PATH, got '{}'; change it, or "
                  "unset it for emulated devices",
                  engine);
    out.plugin = plugin_path("TESSERA_ENGINE", engine);
  }
  if (out.plugin.empty()) {
    if (!options.empty())
      value_error("initialize",
                  "expected client_options with the devices of a plugin (pjrt:PATH), got {} = '{}' "
                  "with \"{}\"; leave them out",
                  options.begin()->first, options.begin()->second, out.spec);
    return out;
  }
  if (const cluster::Processes* processes = cluster::Processes::current())
    value_error("initialize",
                "expected the devices of a plugin in a process alone, got '{}' in {} processes; "
                "start one, or compute on emulated devices",
                out.plugin, processes->count());
  out.options = options.empty() ? parse_options(environment("TESSERA_CLIENT_OPTIONS")) : options;
  return out;
}

std::vector<Device> find_devices(const DeviceRequest& request) {
  if (request.plugin.empty()) return parse_devices(request.spec);
  const bool placed = !request.spec.starts_with(kPlugin);
  std::vector<Device> described;
  if (placed) described = parse_devices(request.spec);
  const DeviceSource source = device_source.load();
  TESSERA_CHECK(source != nullptr, "no source of plugins' devices is installed");
  const std::vector<Device> all = source(request.plugin, request.options);
  if (!placed) return all;
  if (described.size() > all.size())
    value_error("initialize",
                "expected {} devices for \"{}\", got the {} of '{}'; ask for fewer, or for more of "
                "the plugin (XLA's for CPUs: client option cpu_device_count={})",
                described.size(), request.spec, all.size(), request.plugin, described.size());
  for (Device& device : described) device.client = all[static_cast<size_t>(device.id)].client;
  return described;
}

}  // namespace tessera::internal
