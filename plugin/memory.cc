#include "plugin/memory.h"

#include <utility>

#include "plugin/strings.h"

namespace tessera::plugin {
namespace {

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

}  // namespace tessera::plugin
