// BoundedCache: maps keys to values, and finds them by hash. It keeps the entries that were used
// most recently.
//
// Any thread may use it at any time, and a child of fork() finds it intact (fork.h). It returns
// copies of values, so values are shared pointers, or a few of them. An entry that is removed is
// destroyed after the lock is released, because its destructor may use the cache again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tessera/base/fork.h"

namespace tessera {

template <class Key, class Value>
class BoundedCache {
 public:
  struct Entry {
    Key key;
    Value value;
    size_t hash;
    int64_t bytes;
  };
  using Entries = std::list<Entry>;

  // `max_entries` is at least one. The most recently used entry stays even if it exceeds max_bytes.
  BoundedCache(size_t max_entries, ForkParticipant::Level level,
               int64_t max_bytes = std::numeric_limits<int64_t>::max())
      : max_entries_(max_entries), max_bytes_(max_bytes), mutex_(level) {}
  BoundedCache(const BoundedCache&) = delete;
  BoundedCache& operator=(const BoundedCache&) = delete;

  // Returns the value of the key with this hash for which same(key) is true, and makes it the most
  // recently used one. `same` is called under the lock.
  template <class Same>
  std::optional<Value> find(size_t hash, Same&& same) {
    const std::lock_guard lock(mutex_);
    const auto at = find_entry(hash, same);
    if (at == entries_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, at);
    return at->value;
  }

  // Returns the most recently used value if same(its key) is true, without computing a hash.
  template <class Same>
  std::optional<Value> find_latest(Same&& same) {
    const std::lock_guard lock(mutex_);
    if (entries_.empty() || !same(entries_.front().key)) return std::nullopt;
    return entries_.front().value;
  }

  // Adds the entry as the most recently used one, and returns its value. If another thread has
  // added an entry with an equal key meanwhile, that entry stays, and its value is returned.
  // `bytes` is the size of the entry, for max_bytes.
  Value insert(size_t hash, Key key, Value value, int64_t bytes = 0) {
    Entries made, dead;
    made.push_back({std::move(key), std::move(value), hash, bytes});
    const std::lock_guard lock(mutex_);
    const Key& wanted = made.front().key;
    const auto known = find_entry(hash, [&](const Key& key) { return key == wanted; });
    if (known != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, known);
      return known->value;
    }
    index_.emplace(hash, made.begin());
    entries_.splice(entries_.begin(), made);
    bytes_ += bytes;
    while (entries_.size() > max_entries_ || (bytes_ > max_bytes_ && entries_.size() > 1))
      evict(dead);
    return entries_.front().value;
  }

  // Empties the cache and returns its entries. A caller with locks of its own destroys them after
  // it has released these.
  Entries take_all() {
    Entries all;
    const std::lock_guard lock(mutex_);
    all.swap(entries_);
    index_.clear();
    bytes_ = 0;
    return all;
  }
  void clear() { (void)take_all(); }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }
  // Returns the sum of the sizes of all entries.
  int64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  using Iterator = typename Entries::iterator;

  template <class Same>
  Iterator find_entry(size_t hash, Same&& same) {
    const auto [begin, end] = index_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (same(std::as_const(it->second->key))) return it->second;
    return entries_.end();
  }

  void evict(Entries& dead) {
    const Iterator last = std::prev(entries_.end());
    const auto [begin, end] = index_.equal_range(last->hash);
    for (auto it = begin; it != end; ++it)
      if (it->second == last) {
        index_.erase(it);
        break;
      }
    bytes_ -= last->bytes;
    dead.splice(dead.begin(), entries_, last);
  }

  const size_t max_entries_;
  const int64_t max_bytes_;
  mutable ForkSafeMutex mutex_;
  Entries entries_;  // most recently used one first
  std::unordered_multimap<size_t, Iterator> index_;
  int64_t bytes_ = 0;
};

}  // namespace tessera
