#include "plugin/topology.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <sstream>
#include <tuple>

#include "plugin/client.h"
#include "plugin/compile.h"
#include "plugin/error.h"
#include "plugin/named_value.h"
#include "plugin/strings.h"
#include "tessera/mesh/scoped_devices.h"

namespace tessera::plugin {

const char* const kVersion = TESSERA_VERSION;

namespace {

// A serialized topology begins with this line; the specification of its devices follows.
constexpr std::string_view kMagic = "tessera topology 1\n";

PJRT_TopologyDescription* new_topology(std::string spec) {
  std::vector<Device> devices = spec.empty() ? tessera::devices() : parse_devices(spec);
  return new PJRT_TopologyDescription(describe_topology(std::move(spec), devices));
}

// Returns the specification: the topology's name or, if that is empty, from the options.
std::string spec_of(const PJRT_TopologyDescription_Create_Args& a) {
  const std::string named(a.topology_name, a.topology_name_size);
  const std::string option = client_request(a.create_options, a.num_options).devices;
  if (!named.empty() && !option.empty())
    invalid(
        fmt::format("[topology] expected the devices once, got the name '{}' and options for "
                    "'{}'; leave one out",
                    named, option));
  return option.empty() ? named : option;
}

// Returns a number that is the same for the same devices in every process: FNV-1a of their texts.
uint64_t fingerprint_of(const PJRT_TopologyDescription& topology) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::string_view text) {
    for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    hash = (hash ^ 0xff) * 0x100000001b3;  // separates the texts
  };
  add(topology.platform);
  for (const PJRT_DeviceDescription* device : topology.descriptions) add(device->text);
  return hash;
}

}  // namespace

void describe_device(const Device& device, PJRT_DeviceDescription& out) {
  std::ostringstream text;
  text << device;
  out.device = device;
  out.kind = kind_name(device.kind);
  out.text = text.str();
  out.name = is_tpu(device.kind) ? out.text : fmt::format("{}:{}", out.kind, device.id);
  if (!is_tpu(device.kind)) return;
  out.attributes = {named_integers("coords", out.device.coords),
                    named_integer("core_on_chip", device.core_on_chip),
                    named_integer("slice_index", device.slice_index)};
}

PJRT_TopologyDescription describe_topology(std::string spec, const std::vector<Device>& devices) {
  PJRT_TopologyDescription out;
  out.platform = kPlatform;
  out.version = kVersion;
  out.spec = std::move(spec);
  for (const Device& device : devices) {
    describe_device(device, *out.devices.emplace_back(std::make_unique<PJRT_DeviceDescription>()));
    out.descriptions.push_back(out.devices.back().get());
  }
  return out;
}

void add_topologies(PJRT_Api& api) {
  api.PJRT_TopologyDescription_Create = [](PJRT_TopologyDescription_Create_Args* a) {
    return guarded([&] { a->topology = new_topology(spec_of(*a)); });
  };
  api.PJRT_TopologyDescription_Destroy = [](auto* a) -> PJRT_Error* {
    delete a->topology;
    return nullptr;
  };
  api.PJRT_TopologyDescription_PlatformName = [](auto* a) -> PJRT_Error* {
    give(a->topology->platform, a->platform_name, a->platform_name_size);
    return nullptr;
  };
  api.PJRT_TopologyDescription_PlatformVersion = [](auto* a) -> PJRT_Error* {
    give(a->topology->version, a->platform_version, a->platform_version_size);
    return nullptr;
  };
  api.PJRT_TopologyDescription_GetDeviceDescriptions = [](auto* a) -> PJRT_Error* {
    a->descriptions = a->topology->descriptions.data();
    a->num_descriptions = a->topology->descriptions.size();
    return nullptr;
  };
  api.PJRT_TopologyDescription_Attributes = [](auto* a) -> PJRT_Error* {
    a->attributes = nullptr;
    a->num_attributes = 0;
    return nullptr;
  };
  api.PJRT_TopologyDescription_Fingerprint = [](PJRT_TopologyDescription_Fingerprint_Args* a) {
    return guarded([&] { a->fingerprint = fingerprint_of(*a->topology); });
  };
  api.PJRT_TopologyDescription_GetMemorySpaceKindIds = [](auto* a) -> PJRT_Error* {
    static constexpr std::array kIds{0, 1, 2};
    static_assert(kIds.size() == std::tuple_size_v<decltype(PJRT_Device::kinds)>);
    a->memory_space_kind_ids = kIds.data();
    a->num_memory_space_kind_ids = kIds.size();
    return nullptr;
  };
  api.PJRT_TopologyDescription_Serialize = [](PJRT_TopologyDescription_Serialize_Args* a) {
    return guarded([&] {
      auto* held = new PJRT_SerializedTopology{fmt::format("{}{}", kMagic, a->topology->spec)};
      give(held->bytes, a->serialized_bytes, a->serialized_bytes_size);
      a->serialized_topology = held;
      a->serialized_topology_deleter = [](auto* t) { delete t; };
    });
  };
  api.PJRT_TopologyDescription_Deserialize = [](PJRT_TopologyDescription_Deserialize_Args* a) {
    return guarded([&] {
      const std::string_view bytes(a->serialized_topology, a->serialized_topology_size);
      if (bytes.substr(0, kMagic.size()) != kMagic)
        invalid(
            fmt::format("[topology] expected a topology that this version of Tessera "
                        "serialised, got {} other bytes; serialise it again",
                        bytes.size()));
      a->topology = new_topology(std::string(bytes.substr(kMagic.size())));
    });
  };
  api.PJRT_Compile = [](PJRT_Compile_Args* a) {
    return guarded([&] {
      std::optional<ScopedDevices> there;
      if (!a->topology->spec.empty()) there.emplace(a->topology->spec);
      a->executable = new_handle(
          *compile_program(code_of(*a->program), {a->compile_options, a->compile_options_size}));
    });
  };
}

}  // namespace tessera::plugin
