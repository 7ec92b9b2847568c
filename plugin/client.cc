#include "plugin/client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "plugin/error.h"
#include "plugin/rendezvous.h"
#include "plugin/strings.h"
#include "tessera/mesh/device_source.h"

PJRT_Client::PJRT_Client(const std::string& spec) {
  tessera::internal::ignore_engine();
  tessera::initialize({.devices = spec});
  // Without a cluster, this process has the devices of all emulated slices.
  const bool alone = tessera::process_count() == 1;
  process_index = static_cast<int>(tessera::process_index());
  const auto& kinds = tessera::plugin::memory_kinds();
  for (const tessera::Device& device : tessera::devices()) {
    PJRT_Device& out = *owned.emplace_back(std::make_unique<PJRT_Device>());
    out.client = this;
    tessera::plugin::describe_device(device, out.description);
    devices.push_back(&out);
    out.description.process_index = alone ? 0 : static_cast<int>(device.process_index);
    if (out.description.process_index != process_index) continue;
    out.local_id = static_cast<int>(addressable.size());
    addressable.push_back(&out);
    for (size_t k = 0; k < kinds.size(); ++k) {
      tessera::plugin::Memory& memory = out.kinds[k];
      memory.id = static_cast<int>(device.id * static_cast<int64_t>(kinds.size()) +
                                   static_cast<int64_t>(k));
      memory.kind_id = static_cast<int>(k);
      memory.kind = kinds[k];
      memory.text = fmt::format("{} memory of {}", kinds[k], out.description.text);
      memory.devices = {&out};
      out.memories.push_back(&memory);
      memories.push_back(&memory);
    }
  }
  topology = tessera::plugin::describe_topology(spec, tessera::devices());
}

tessera::plugin::Memory* PJRT_Device::memory(std::string_view kind) {
  for (tessera::plugin::Memory& memory : kinds)
    if (memory.kind == kind) return &memory;
  tessera::plugin::invalid(fmt::format("[tessera] expected a memory kind out of {}, got '{}'",
                                       fmt::join(tessera::plugin::memory_kinds(), ", "), kind));
}

namespace tessera::plugin {

ClientRequest client_request(const PJRT_NamedValue* options, size_t count) {
  ClientRequest out;
  for (size_t i = 0; i < count; ++i) {
    const PJRT_NamedValue& option = options[i];
    const std::string_view name(option.name, option.name_size);
    const bool integer = option.type == PJRT_NamedValue_kInt64;
    if (name == "num_devices" && integer) {
      if (option.int64_value < 1)
        invalid(fmt::format("[tessera] expected num_devices of at least 1, got {}",
                            option.int64_value));
      out.devices = fmt::format("cpu:{}", option.int64_value);
    } else if (name == "devices" && option.type == PJRT_NamedValue_kString) {
      out.devices.assign(option.string_value, option.value_size);
    } else if (name == "num_nodes" && integer) {
      out.nodes = option.int64_value;
    } else if (name == "node_id" && integer) {
      out.node = option.int64_value;
    } else {
      invalid(
          fmt::format("[tessera] expected the option num_devices (an integer) or devices (a "
                      "string such as tpu_v4:2x2x1), got '{}'",
                      name));
    }
  }
  if (out.node < 0 || out.node >= out.nodes || out.nodes > std::numeric_limits<int>::max())
    invalid(fmt::format("[tessera] expected a node_id below num_nodes, got {} of {}", out.node,
                        out.nodes));
  return out;
}

namespace {

PJRT_Device* find_device(PJRT_Client* client, int64_t id) {
  for (PJRT_Device* device : client->devices)
    if (device->description.device.id == id) return device;
  invalid(fmt::format("[tessera] expected the id of one of {} devices, got {}",
                      client->devices.size(), id));
}

PJRT_Device* find_local_device(PJRT_Client* client, int local_id) {
  if (local_id < 0 || static_cast<size_t>(local_id) >= client->addressable.size())
    invalid(
        fmt::format("[tessera] expected the number of one of {} devices of this process, got {}",
                    client->addressable.size(), local_id));
  return client->addressable[static_cast<size_t>(local_id)];
}

PJRT_Client* create(const PJRT_Client_Create_Args& a) {
  const ClientRequest request = client_request(a.create_options, a.num_options);
  if (request.nodes > 1) cluster::join(rendezvous_of(a, request));
  auto client = std::make_unique<PJRT_Client>(request.devices);
  if (process_count() != request.nodes)
    invalid(
        fmt::format("[tessera] expected a client of {} processes, as TESSERA_CLUSTER has started "
                    "them, got one of {}; call jax.distributed.initialize() first, or unset "
                    "TESSERA_CLUSTER",
                    process_count(), request.nodes));
  return client.release();
}

void add_devices(PJRT_Api& api) {
  api.PJRT_DeviceDescription_Id = [](auto* a) -> PJRT_Error* {
    a->id = static_cast<int>(a->device_description->device.id);
    return nullptr;
  };
  api.PJRT_DeviceDescription_ProcessIndex = [](auto* a) -> PJRT_Error* {
    a->process_index = a->device_description->process_index;
    return nullptr;
  };
  api.PJRT_DeviceDescription_Attributes = [](auto* a) -> PJRT_Error* {
    a->attributes = a->device_description->attributes.data();
    a->num_attributes = a->device_description->attributes.size();
    return nullptr;
  };
  api.PJRT_DeviceDescription_Kind = [](auto* a) -> PJRT_Error* {
    give(a->device_description->kind, a->device_kind, a->device_kind_size);
    return nullptr;
  };
  api.PJRT_DeviceDescription_DebugString = [](auto* a) -> PJRT_Error* {
    give(a->device_description->name, a->debug_string, a->debug_string_size);
    return nullptr;
  };
  api.PJRT_DeviceDescription_ToString = [](auto* a) -> PJRT_Error* {
    give(a->device_description->text, a->to_string, a->to_string_size);
    return nullptr;
  };
  api.PJRT_Device_GetDescription = [](auto* a) -> PJRT_Error* {
    a->device_description = &a->device->description;
    return nullptr;
  };
  api.PJRT_Device_IsAddressable = [](auto* a) -> PJRT_Error* {
    a->is_addressable = a->device->local_id >= 0;
    return nullptr;
  };
  api.PJRT_Device_LocalHardwareId = [](auto* a) -> PJRT_Error* {
    a->local_hardware_id = a->device->local_id;
    return nullptr;
  };
  api.PJRT_Device_GetAttributes = [](auto* a) -> PJRT_Error* {
    a->attributes = a->device->description.attributes.data();
    a->num_attributes = a->device->description.attributes.size();
    a->device_attributes = nullptr;  // the attributes belong to the device, and live as long as it
    a->attributes_deleter = [](PJRT_Device_Attributes*) {};
    return nullptr;
  };
  api.PJRT_Device_AddressableMemories = [](auto* a) -> PJRT_Error* {
    a->memories = a->device->memories.data();
    a->num_memories = a->device->memories.size();
    return nullptr;
  };
  api.PJRT_Device_DefaultMemory = [](PJRT_Device_DefaultMemory_Args* a) {
    return guarded([&] {
      if (a->device->local_id < 0)
        invalid(fmt::format("[tessera] expected a device of this process, got {} of process {}",
                            a->device->description.text, a->device->description.process_index));
      a->memory = a->device->default_memory();
    });
  };
}

}  // namespace

void add_client(PJRT_Api& api) {
  api.PJRT_Client_Create = [](PJRT_Client_Create_Args* a) {
    return guarded([&] { a->client = create(*a); });
  };
  api.PJRT_Client_Destroy = [](auto* a) -> PJRT_Error* {
    delete a->client;
    return nullptr;
  };
  api.PJRT_Client_PlatformName = [](auto* a) -> PJRT_Error* {
    give(a->client->platform, a->platform_name, a->platform_name_size);
    return nullptr;
  };
  api.PJRT_Client_PlatformVersion = [](auto* a) -> PJRT_Error* {
    give(a->client->version, a->platform_version, a->platform_version_size);
    return nullptr;
  };
  api.PJRT_Client_ProcessIndex = [](auto* a) -> PJRT_Error* {
    a->process_index = a->client->process_index;
    return nullptr;
  };
  api.PJRT_Client_Devices = [](auto* a) -> PJRT_Error* {
    a->devices = a->client->devices.data();
    a->num_devices = a->client->devices.size();
    return nullptr;
  };
  api.PJRT_Client_AddressableDevices = [](auto* a) -> PJRT_Error* {
    a->addressable_devices = a->client->addressable.data();
    a->num_addressable_devices = a->client->addressable.size();
    return nullptr;
  };
  api.PJRT_Client_AddressableMemories = [](auto* a) -> PJRT_Error* {
    a->addressable_memories = a->client->memories.data();
    a->num_addressable_memories = a->client->memories.size();
    return nullptr;
  };
  api.PJRT_Client_LookupDevice = [](PJRT_Client_LookupDevice_Args* a) {
    return guarded([&] { a->device = find_device(a->client, a->id); });
  };
  api.PJRT_Client_LookupAddressableDevice = [](PJRT_Client_LookupAddressableDevice_Args* a) {
    return guarded(
        [&] { a->addressable_device = find_local_device(a->client, a->local_hardware_id); });
  };
  api.PJRT_Client_DefaultDeviceAssignment = [](PJRT_Client_DefaultDeviceAssignment_Args* a) {
    return guarded([&] {
      if (a->default_assignment_size > a->client->devices.size())
        invalid(fmt::format(
            "[tessera] expected a program for at most {} devices, got one for {}; "
            "set TESSERA_DEVICES=cpu:{}",
            a->client->devices.size(), a->default_assignment_size, a->default_assignment_size));
      for (size_t i = 0; i < a->default_assignment_size; ++i)
        a->default_assignment[i] = static_cast<int>(a->client->devices[i]->description.device.id);
    });
  };
  // JAX passes which processes are alive. The cluster finds that out itself, for the processes that
  // it waits for (tessera/cluster/processes.h).
  api.PJRT_Client_UpdateGlobalProcessInfo = [](auto*) -> PJRT_Error* { return nullptr; };
  api.PJRT_Client_TopologyDescription = [](auto* a) -> PJRT_Error* {
    a->topology = &a->client->topology;
    return nullptr;
  };
  add_devices(api);
}

}  // namespace tessera::plugin
