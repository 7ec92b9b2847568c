// PackedWeights: the elements of an array in the order in which a library reads them, kept with the
// array. The weights of a layer are the same at every call, so only the first calls have to pack
// them.
//
// Arrays do not change, so a packed form is valid as long as its array lives. Memory that a
// donation hands on belongs to another array, which has packed forms of its own. All programs share
// the packed forms of an array. Packed forms are buffers of the pool, which memory_stats() counts
// as live. Together they take at most buffer_cache_limit() bytes: those that were used last are
// kept. If the system has no more memory, all of them are dropped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

#include "tessera/base/buffer.h"
#include "tessera/base/namespaces.h"

namespace tessera::runtime {

// A way to pack: a function of the elements at an address. Steps that read the same form share one
// object (shared_form), and its address is the key of the packed elements.
class PackedForm {
 public:
  virtual ~PackedForm() = default;
  virtual int64_t bytes() const = 0;
  // Packs the elements at `from` into `to`, which is aligned to 64 bytes. Threads of the pool help.
  virtual void pack(const std::byte* from, std::byte* to) const = 0;

 protected:
  friend std::shared_ptr<const PackedForm> shared_form(std::shared_ptr<const PackedForm>);
  // Equal forms have equal hashes.
  virtual size_t hash() const = 0;
  virtual bool equals(const PackedForm& other) const = 0;
};
using PackedFormRef = std::shared_ptr<const PackedForm>;

// Returns the form of this process that equals the given one, or the given one if there is none.
PackedFormRef shared_form(PackedFormRef form);

// When packed elements are kept.
enum class KeepPacked : uint8_t {
  kFirstUse,  // at the first use: for constants, which every run of a program reads
  // When they are packed the second time: for arguments. The weights of a training step are other
  // arrays at every step: each is packed once and not kept, and the next step uses the memory
  // again.
  kSecondUse,
};

// The packed forms of one array. Thread-safe.
class PackedWeights {
 public:
  explicit PackedWeights(KeepPacked keep) : keep_(keep) {}
  ~PackedWeights() { clear(); }
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // Returns the packed form of the elements at `data`, which are elements of the array. If it is
  // not kept, the elements are packed here. A thread that calls get() while another one packs does
  // not wait; it packs for itself.
  Buffer get(const PackedFormRef& form, const std::byte* data);
  KeepPacked keep() const { return keep_; }
  // Forgets all forms: the array has been deleted.
  void clear();
  // Returns the size in bytes of the forms that are kept.
  int64_t bytes() const;

 private:
  friend class PackedWeightsLimit;
  struct Key {
    const PackedForm* form;
    const std::byte* data;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  // The packed form of the elements at one address.
  struct Entry {
    PackedFormRef form;
    Buffer packed;                          // null if it is not kept
    bool packing = false;                   // a thread packs the elements, to keep them
    std::list<Entry*>::iterator used = {};  // its position in PackedWeightsLimit, if it is kept
  };
  using Entries = std::unordered_map<Key, Entry, KeyHash>;

  const KeepPacked keep_;
  Entries entries_;  // guarded by the mutex of PackedWeightsLimit
};

// The packed forms of an array, made when a step first asks for them, since most arrays are no
// weights.
class LazyPackedWeights {
 public:
  explicit LazyPackedWeights(KeepPacked keep) : keep_(keep) {}
  // Shares the forms of another array with the same elements in the same memory.
  explicit LazyPackedWeights(const std::shared_ptr<PackedWeights>& shared)
      : keep_(shared->keep()), weights_(new std::shared_ptr<PackedWeights>(shared)) {}
  ~LazyPackedWeights();
  LazyPackedWeights(const LazyPackedWeights&) = delete;
  LazyPackedWeights& operator=(const LazyPackedWeights&) = delete;

  const std::shared_ptr<PackedWeights>& get() const;
  // Forgets all forms, if there are any.
  void clear() const;
  int64_t bytes() const;

 private:
  const KeepPacked keep_;
  // Null until the first use.
  mutable std::atomic<const std::shared_ptr<PackedWeights>*> weights_{nullptr};
};

// Returns the packed form of the elements at `data`, from `weights` or, if that is null, packed
// only for this use.
Buffer packed(const PackedFormRef& form, const std::byte* data, const LazyPackedWeights* weights);

// Counts of what this process has packed so far and what it keeps.
struct PackingStats {
  int64_t packed = 0;      // how often elements were packed
  int64_t kept = 0;        // how many packed forms are kept
  int64_t kept_bytes = 0;  // their size in bytes, which memory_stats() counts as live
};
PackingStats packing_stats();

}  // namespace tessera::runtime
