#include "plugin/memory.h"

#include <utility>

#include "plugin/strings.h"

// A kind of memory, without a device.
struct PJRT_MemoryDescription {
  int kind_id = 0;
};

namespace tessera::plugin {
namespace {

constexpr std::array<PJRT_MemoryDescription, 3> kDescriptions{{{0}, {1}, {2}}};

PJRT_Error* describe_memories(PJRT_DeviceDescription_MemoryDescriptions_Args* a) {
  static constexpr std::array kAll{&kDescriptions[0], &kDescriptions[1], &kDescriptions[2]};
  a->memory_descriptions = kAll.data();
  a->num_memory_descriptions = kAll.size();
  a->default_memory_index = 0;
  return nullptr;
}

PJRT_Error* describe_kind(PJRT_MemoryDescription_Kind_Args* a) {
  a->kind_id = a->memory_description->kind_id;
  give(memory_kinds().at(static_cast<size_t>(a->kind_id)), a->kind, a->kind_size);
  return nullptr;
}

constexpr PJRT_Memory_FunctionTable kFunctions{
    .struct_size = PJRT_Memory_FunctionTable_STRUCT_SIZE,
    .extension_start = nullptr,
    .instance_struct_size = PJRT_Memory_STRUCT_SIZE,
    .get_user_data = [](PJRT_Memory* memory,
                        const void* key) { return memory_of(memory).user_data.get(key); },
    .set_user_data =
        [](PJRT_Memory* memory, const void* key, void* value, void (*destructor)(void*)) {
          memory_of(memory).user_data.set(key, value, destructor);
        },
};

}  // namespace

UserData::~UserData() {
  for (const auto& [key, entry] : entries_) destroy(entry);
}

void* UserData::get(const void* key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.value;
}

void UserData::set(const void* key, void* value, Destructor destructor) {
  Entry entry{value, destructor};
  {
    const std::lock_guard lock(mutex_);
    std::swap(entries_[key], entry);
  }
  destroy(entry);
}

void UserData::destroy(const Entry& entry) {
  if (entry.value && entry.destructor) entry.destructor(entry.value);
}

Memory::Memory() : PJRT_Memory{&kFunctions} {}

const std::array<std::string, 3>& memory_kinds() {
  static const std::array<std::string, 3> kinds{"device", "pinned_host", "unpinned_host"};
  return kinds;
}

void add_memories(PJRT_Api& api) {
  api.PJRT_Memory_Id = [](auto* a) -> PJRT_Error* {
    a->id = memory_of(a->memory).id;
    return nullptr;
  };
  api.PJRT_Memory_Kind = [](auto* a) -> PJRT_Error* {
    give(memory_of(a->memory).kind, a->kind, a->kind_size);
    return nullptr;
  };
  api.PJRT_Memory_Kind_Id = [](auto* a) -> PJRT_Error* {
    a->kind_id = memory_of(a->memory).kind_id;
    return nullptr;
  };
  api.PJRT_Memory_DebugString = [](auto* a) -> PJRT_Error* {
    give(memory_of(a->memory).text, a->debug_string, a->debug_string_size);
    return nullptr;
  };
  api.PJRT_Memory_ToString = [](auto* a) -> PJRT_Error* {
    give(memory_of(a->memory).text, a->to_string, a->to_string_size);
    return nullptr;
  };
  api.PJRT_Memory_AddressableByDevices = [](auto* a) -> PJRT_Error* {
    a->devices = memory_of(a->memory).devices.data();
    a->num_devices = memory_of(a->memory).devices.size();
    return nullptr;
  };
}

PJRT_MemoryDescriptions_Extension make_memory_descriptions_extension(PJRT_Extension_Base* next) {
  return {.base = {.struct_size = PJRT_MemoryDescriptions_Extension_STRUCT_SIZE,
                   .type = PJRT_Extension_Type_MemoryDescriptions,
                   .next = next},
          .PJRT_DeviceDescription_MemoryDescriptions = describe_memories,
          .PJRT_MemoryDescription_Kind = describe_kind};
}

}  // namespace tessera::plugin
