#include "tessera/ffi/c_api/types.h"

#include <map>
#include <mutex>
#include <string>

#include "tessera/base/fork.h"
#include "tessera/base/format.h"
#include "tessera/ffi/ffi.h"

namespace tessera::ffi {
namespace {

struct Types {
  ForkSafeMutex mutex;
  std::map<std::string, int64_t> by_name;
  std::map<int64_t, Deleter> by_id;
  // XLA counts from 1 in the same process, and its numbers are registered here too.
  int64_t next = int64_t{1} << 40;
};

Types& types() {
  static Types& all = *new Types;
  return all;
}

}  // namespace

std::optional<Deleter> deleter_of(int64_t type) {
  Types& all = types();
  const std::lock_guard lock(all.mutex);
  const auto at = all.by_id.find(type);
  return at == all.by_id.end() ? std::nullopt : std::optional(at->second);
}

int64_t register_type(const std::string& name, int64_t id, void (*deleter)(void*)) {
  Types& all = types();
  const std::lock_guard lock(all.mutex);
  if (const auto at = all.by_name.find(name); at != all.by_name.end()) {
    if (id != 0 && id != at->second)
      value_error("ffi",
                  "expected the type '{}' with the number {}, got {}; give types of "
                  "different libraries different names",
                  name, at->second, id);
    return at->second;
  }
  if (id == 0) id = all.next++;
  if (all.by_id.count(id) > 0)
    value_error("ffi",
                "expected a number that no other type has for '{}', got {}; leave the number "
                "0, so that one is chosen",
                name, id);
  all.by_name[name] = id;
  all.by_id[id] = deleter;
  return id;
}

}  // namespace tessera::ffi
