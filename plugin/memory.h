// The memories of a device for JAX. Programs name their kinds: "device" (the default),
// "pinned_host" and "unpinned_host", as XLA's CPU devices have them; all are the host's memory.
// What JAX attaches to a memory stays until the client is destroyed.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plugin/pjrt.h"
#include "xla/pjrt/c/pjrt_c_api_memory_descriptions_extension.h"

namespace tessera::plugin {

// Values that a caller attaches to an object under keys of its own, each with its destructor.
class UserData {
 public:
  using Destructor = void (*)(void*);

  UserData() = default;
  ~UserData();
  UserData(const UserData&) = delete;
  UserData& operator=(const UserData&) = delete;

  // Returns the value under this key, or null.
  void* get(const void* key) const;
  // Destroys the value that the key had before.
  void set(const void* key, void* value, Destructor destructor);

 private:
  struct Entry {
    void* value = nullptr;
    Destructor destructor = nullptr;
  };
  static void destroy(const Entry& entry);

  mutable std::mutex mutex_;
  std::map<const void*, Entry> entries_;
};

// Every plugin's memories begin with PJRT_Memory, the table of its functions.
struct Memory : PJRT_Memory {
  Memory();

  int id = 0, kind_id = 0;
  std::string kind, text;
  std::vector<PJRT_Device*> devices;
  UserData user_data;
};

// Returns the memory of a handle of the API.
inline Memory& memory_of(PJRT_Memory* handle) { return *static_cast<Memory*>(handle); }

// Returns the names of memory_kinds, the default first.
const std::array<std::string, 3>& memory_kinds();

// Sets the functions of memories.
void add_memories(PJRT_Api& api);

// Returns the extension that lists the kinds of memory of devices that do not exist here: jaxlib
// 0.8 compiles for such devices only with it. `next` follows it in the list of extensions.
PJRT_MemoryDescriptions_Extension make_memory_descriptions_extension(PJRT_Extension_Base* next);

}  // namespace tessera::plugin
