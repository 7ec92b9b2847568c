#include "tessera/engine/clients.h"

#include <unistd.h>

#include <deque>
#include <mutex>

#include "tessera/ir/format.h"
#include "tessera/mesh/device_source.h"

namespace tessera::engine {
namespace {

struct Opened {
  std::string path;
  std::map<std::string, std::string> options;
  ClientRef client;
  pid_t process;
};

struct Registry {
  std::mutex mutex;
  std::deque<Opened> opened;  // number n is at n - 1; entries never move
};
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

const Opened& opened(int64_t number) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  TESSERA_CHECK(number >= 1 && number <= static_cast<int64_t>(r.opened.size()), "no client {}",
                number);
  return r.opened[static_cast<size_t>(number) - 1];
}

// initialize() calls this from one thread at a time.
std::vector<Device> open_devices(const std::string& path,
                                 const std::map<std::string, std::string>& options) {
  Registry& r = registry();
  const auto known = [&]() -> int64_t {
    const std::lock_guard lock(r.mutex);
    for (size_t i = 0; i < r.opened.size(); ++i)
      if (r.opened[i].path == path && r.opened[i].options == options)
        return static_cast<int64_t>(i) + 1;
    return 0;
  };
  int64_t number = known();
  if (number == 0) {
    ClientRef client = open_client(path, options);
    if (client->devices().empty())
      value_error("initialize", "expected devices of '{}', got none; look at what the plugin needs",
                  path);
    const std::lock_guard lock(r.mutex);
    r.opened.push_back({path, options, std::move(client), getpid()});
    number = static_cast<int64_t>(r.opened.size());
  }
  const Client& of = client(number);
  std::vector<Device> out;
  for (const ClientDevice& device : of.devices())
    out.push_back({.id = static_cast<int64_t>(out.size()),
                   .process_index = device.process_index,
                   .kind = device_kind(of.platform(), device.kind),
                   .coords = device.coords,
                   .core_on_chip = device.core_on_chip,
                   .slice_index = device.slice_index,
                   .client = number});
  return out;
}

[[maybe_unused]] const bool installed = (internal::set_device_source(&open_devices), true);

}  // namespace

const Client& client(int64_t number) {
  const Opened& found = opened(number);
  if (found.process != getpid())
    throw RuntimeError(
        fmt::format("[engine] the devices of '{}' are of the process that initialized them, which "
                    "this one is a "
                    "fork of; fork before initialize(), or compute in the parent",
                    found.path));
  return *found.client;
}

const std::string& plugin_path(int64_t number) { return opened(number).path; }

int64_t client_of(std::string_view op, std::span<const Device> devices) {
  for (const Device& device : devices)
    if (device.client != devices[0].client)
      sharding_error(op,
                     "expected devices of one engine, got {} and {}, which {}; make a mesh of "
                     "devices() of one initialize()",
                     devices[0], device,
                     device.client == 0 || devices[0].client == 0
                         ? "an emulated one and one of a plugin are"
                         : "two clients have");
  return devices.empty() ? 0 : devices[0].client;
}

int64_t client_of(std::string_view op, const Sharding& sharding) {
  if (!sharding.is_named()) return sharding.single().device().client;
  const Mesh& mesh = sharding.named().mesh();
  return mesh.is_abstract() || mesh.rank() == 0 ? 0 : client_of(op, mesh.devices());
}

DeviceKind device_kind(std::string_view platform, std::string_view kind) {
  if (platform == "tpu") {
    // Longer names come first, since "TPU v5" (v5p) begins "TPU v5 lite" (v5e).
    constexpr std::pair<std::string_view, DeviceKind> kKinds[] = {
        {"TPU v2", DeviceKind::kTpuV2},       {"TPU v3", DeviceKind::kTpuV3},
        {"TPU v4", DeviceKind::kTpuV4},       {"TPU v5 lite", DeviceKind::kTpuV5e},
        {"TPU v5e", DeviceKind::kTpuV5e},     {"TPU v5", DeviceKind::kTpuV5p},
        {"TPU v6 lite", DeviceKind::kTpuV6e}, {"TPU v6e", DeviceKind::kTpuV6e},
    };
    for (const auto& [name, found] : kKinds)
      if (kind.starts_with(name)) return found;
    return DeviceKind::kTpuV6e;
  }
  if (platform == "cuda" || platform == "rocm" || platform == "gpu" || platform == "sycl")
    return DeviceKind::kGpu;
  return DeviceKind::kCpu;
}

}  // namespace tessera::engine
