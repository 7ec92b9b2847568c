// CallCache: from the arguments of a call to the program that serves it, without tracing again.
#pragma once

#include <list>
#include <unordered_map>

#include "tessera/base/fork.h"
#include "tessera/base/hash.h"
#include "tessera/compile/program_cache.h"
#include "tessera/ir/params.h"

namespace tessera::compile {

// Entry: what a call needs, found by (identity, params, arguments). Entries are immutable and live
// as long as the cache or their users; the calls that were made last are kept.
template <class Entry>
class CallCache {
 public:
  using EntryRef = std::shared_ptr<const Entry>;

  EntryRef find(const void* id, const OpParams& params, std::span<const Array> args, size_t hash) {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = index_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (!matches(*it->second, id, params, args)) continue;
      calls_.splice(calls_.begin(), calls_, it->second);
      return it->second->entry;
    }
    return nullptr;
  }

  void insert(const void* id, const OpParams& params, std::span<const Array> args, size_t hash,
              EntryRef entry) {
    Call call{id, params, {}, std::move(entry), hash};
    for (const Array& x : args) call.args.emplace_back(x);
    Calls dead;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    calls_.push_front(std::move(call));
    index_.emplace(hash, calls_.begin());
    if (calls_.size() > kMaxCalls) evict(dead);
  }

  void clear() {
    Calls dead;
    const std::lock_guard lock(mutex_);
    dead.swap(calls_);
    index_.clear();
  }

  static size_t hash(const void* id, const OpParams& params, std::span<const Array> args) {
    size_t seed = hash_combine(std::hash<const void*>()(id), params.hash());
    for (const Array& x : args) seed = hash_combine(seed, hash_argument(x));
    return seed;
  }

 private:
  static constexpr size_t kMaxCalls = 4096;
  struct Call {
    const void* id;
    OpParams params;
    std::vector<ArgKey> args;
    EntryRef entry;
    size_t hash;
  };
  using Calls = std::list<Call>;

  static bool matches(const Call& call, const void* id, const OpParams& params,
                      std::span<const Array> args) {
    if (call.id != id || call.args.size() != args.size() || !(call.params == params)) return false;
    for (size_t i = 0; i < args.size(); ++i)
      if (!call.args[i].matches(args[i])) return false;
    return true;
  }
  void evict(Calls& dead) {
    const auto last = std::prev(calls_.end());
    const auto [begin, end] = index_.equal_range(last->hash);
    for (auto it = begin; it != end; ++it)
      if (it->second == last) {
        index_.erase(it);
        break;
      }
    dead.splice(dead.begin(), calls_, last);
  }

  ForkSafeMutex mutex_{ForkParticipant::Level::kCalls};
  Calls calls_;  // the latest first
  std::unordered_multimap<size_t, typename Calls::iterator> index_;
};

}  // namespace tessera::compile
