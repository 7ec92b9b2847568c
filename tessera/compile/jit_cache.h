// JitCache: the programs of the earlier calls of one jitted function. The templates of jit.h only
// hold its entries.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/bounded_cache.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/program_cache.h"

namespace tessera::internal {

// The properties of a program that a call of its jitted function needs.
struct JitEntry {
  CompiledRef program;
  std::vector<Array> captures;
  std::vector<uint8_t> donate;
  std::shared_ptr<const void> result;  // the function's result, with tracers as leaves
  SourceLocation where;                // where jit() was called; line 0 if it was not
};

// The latest kMaxEntries calls of one jitted function. It is thread-safe.
class JitCache {
 public:
  static constexpr size_t kMaxEntries = 1024;
  JitCache();
  ~JitCache();
  JitCache(const JitCache&) = delete;
  JitCache& operator=(const JitCache&) = delete;
  // Empties the caches of all functions.
  static void clear_all();

  // Returns the entry of an earlier call with such arguments, or null. `types` identifies the C++
  // types of the arguments, `statics` their static parts.
  JitEntryRef find(const void* types, std::string_view statics, std::span<const Array> leaves);
  void insert(const void* types, const std::string& statics, std::span<const Array> leaves,
              JitEntryRef entry);

 private:
  struct Key {
    const void* types;
    std::string statics;
    bool x64;
    compile::ArgKeys args;
    bool operator==(const Key&) const = default;
  };
  BoundedCache<Key, JitEntryRef> calls_{kMaxEntries, ForkParticipant::Level::kCalls};
};

}  // namespace tessera::internal
