// CallCache: from the arguments of a call to the program that serves it, without tracing again.
#pragma once

#include <mutex>
#include <unordered_map>

#include "tessera/compile/compiled.h"

namespace tessera {

// Entry: what a call needs, found by (identity, params, arguments). Entries are immutable and live
// as long as the cache or their users.
template <class Entry>
class CallCache {
 public:
  using EntryRef = std::shared_ptr<const Entry>;

  EntryRef find(const void* id, const OpParams& params, std::span<const Array> args, size_t hash) {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = entries_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (matches(it->second, id, params, args)) return it->second.entry;
    return nullptr;
  }

  void insert(const void* id, const OpParams& params, std::span<const Array> args, size_t hash,
              EntryRef entry) {
    Slot slot{id, params, {}, std::move(entry)};
    for (const Array& x : args) slot.args.emplace_back(x);
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= kMaxEntries)
      entries_.clear();  // all come back on demand from the program cache
    entries_.emplace(hash, std::move(slot));
  }

  static size_t hash(const void* id, const OpParams& params, std::span<const Array> args) {
    size_t seed = hash_combine(std::hash<const void*>()(id), params.hash());
    for (const Array& x : args) seed = hash_combine(seed, hash_argument(x));
    return seed;
  }

 private:
  static constexpr size_t kMaxEntries = 16384;
  struct Slot {
    const void* id;
    OpParams params;
    std::vector<ArgKey> args;
    EntryRef entry;
  };
  static bool matches(const Slot& slot, const void* id, const OpParams& params,
                      std::span<const Array> args) {
    if (slot.id != id || slot.args.size() != args.size() || !(slot.params == params)) return false;
    for (size_t i = 0; i < args.size(); ++i)
      if (!slot.args[i].matches(args[i])) return false;
    return true;
  }

  std::mutex mutex_;
  std::unordered_multimap<size_t, Slot> entries_;
};

}  // namespace tessera
