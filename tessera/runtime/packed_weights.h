// PackedWeights: what libraries make of the elements of an array before they compute with them, kept
// with the array. The weights of a layer are the same at every call, so only the first calls
// convert them to the order in which a library reads them.
//
// Arrays do not change, so a packed form is valid as long as its array lives; memory that a donation
// hands on belongs to another array, which has packed forms of its own. All programs share a form
// of an array. Packed forms are buffers of the pool, which memory_stats() counts as live. All of
// them together take at most buffer_cache_limit() bytes: the ones that were used last stay. If the
// system has no more memory, none stays.
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

// One way to pack: a function of the elements at an address. Steps whose libraries read the same
// form share one object (shared_form), by which packed forms are found.
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

// Returns the form of this process that equals the given one: that itself, if there is no other.
PackedFormRef shared_form(PackedFormRef form);

// When packed elements are kept.
enum class KeepPacked : uint8_t {
  kFirstUse,  // at once: of constants, which every run of a program reads
  // When they are packed again: of arguments. A weight that changes in every step of a training is
  // packed once, into memory that the next step uses again.
  kSecondUse,
};

// The packed forms of one array. Thread-safe.
class PackedWeights {
 public:
  explicit PackedWeights(KeepPacked keep) : keep_(keep) {}
  ~PackedWeights() { clear(); }
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // Returns the form of the elements at `data`, which are elements of the array. If it is not kept,
  // it is packed here. A thread that comes while another one packs does not wait; it packs for
  // itself.
  Buffer get(const PackedFormRef& form, const std::byte* data);
  KeepPacked keep() const { return keep_; }
  // Forgets all forms: the array has been deleted.
  void clear();
  // Returns the bytes of the forms that are kept.
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
  // The elements at one address in one form.
  struct Entry {
    PackedFormRef form;
    Buffer packed;                          // none: not kept
    bool packing = false;                   // a thread packs them, to keep them
    std::list<Entry*>::iterator used = {};  // its place among all that are kept, if it is
  };
  using Entries = std::unordered_map<Key, Entry, KeyHash>;

  const KeepPacked keep_;
  Entries entries_;  // guarded by the mutex of PackedWeightsLimit
};

// The packed forms of an array, made when a step first asks for them: most arrays are no weights.
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

// Returns the form of the elements at `data`, kept in `weights` or, if that is null, packed for this
// use alone.
Buffer packed(const PackedFormRef& form, const std::byte* data, const LazyPackedWeights* weights);

// What this process has packed so far, and what it keeps.
struct PackingStats {
  int64_t packed = 0;      // how often elements were packed
  int64_t kept = 0;        // how many packed forms there are
  int64_t kept_bytes = 0;  // their memory, which memory_stats() counts as live
};
PackingStats packing_stats();

}  // namespace tessera::runtime
