// The memories of a device, for JAX. Programs name their kinds: "device" (the default),
// "pinned_host" and "unpinned_host", like those of XLA's CPU devices. All are the host's memory.
// Data that JAX attaches to a memory lives until the client is destroyed.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plugin/pjrt.h"
#include "xla/pjrt/c/pjrt_c_api_memory_descriptions_extension.h"

namespace tessera::plugin {

// Values that a caller attaches to an object, by keys of the caller, each with its destructor.
class UserData {
 public:
  using Destructor = void (*)(void*);

  UserData() = default;
  ~UserData();
  UserData(const UserData&) = delete;
  UserData& operator=(const UserData&) = delete;

  // Returns the value under this key, or null.
  void* get(const void* key) const;
  // Sets the value of a key. Destroys the value that the key had before.
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

// A memory of any plugin begins with PJRT_Memory, a pointer to the table of its functions.
struct Memory : PJRT_Memory {
  Memory();

  int id = 0, kind_id = 0;
  std::string kind, text;
  std::vector<PJRT_Device*> devices;
  UserData user_data;
};

// Returns the memory that a handle of the API refers to.
inline Memory& memory_of(PJRT_Memory* handle) { return *static_cast<Memory*>(handle); }

// Returns the names of the memory kinds, the default first.
const std::array<std::string, 3>& memory_kinds();

// Sets the functions for memories.
void add_memories(PJRT_Api& api);

// Returns the extension that lists the kinds of memory of devices that do not exist here. jaxlib
// 0.8 compiles for such devices only if there is this extension. `next` follows it in the list of
// extensions.
PJRT_MemoryDescriptions_Extension make_memory_descriptions_extension(PJRT_Extension_Base* next);

}  // namespace tessera::plugin
