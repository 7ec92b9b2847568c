// JitCache: the programs of the calls that one jitted function has seen. Behind jit.h, whose
// templates only hold what it finds.
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

// What a call of a jitted function needs to know of the program that serves it.
struct JitEntry {
  CompiledRef program;
  std::vector<Array> captures;
  std::vector<uint8_t> donate;
  std::shared_ptr<const void> result;  // the function's result, with tracers for leaves
  SourceLocation where;                // of jit(); line 0: it was not jitted
};

// The calls one jitted function has seen, the latest kMaxEntries. Thread-safe.
class JitCache {
 public:
  static constexpr size_t kMaxEntries = 1024;
  JitCache();
  ~JitCache();
  JitCache(const JitCache&) = delete;
  JitCache& operator=(const JitCache&) = delete;
  // Empties those of all functions.
  static void clear_all();

  // `types` identifies the C++ types of the arguments, `statics` is what is static about them.
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
