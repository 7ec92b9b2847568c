#include "tessera/runtime/products/packed_weights.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "tessera/base/fork.h"
#include "tessera/base/hash.h"
#include "tessera/base/reclaim.h"

namespace tessera::runtime {

// All packed forms that are kept, in the order of their last use. The object is never destroyed,
// because arrays may outlive static destructors.
class PackedWeightsLimit {
 public:
  using Entry = PackedWeights::Entry;
  static PackedWeightsLimit& process() {
    static PackedWeightsLimit& limit = *new PackedWeightsLimit;
    return limit;
  }
  // The functions below are called with the mutex locked.
  ForkSafeMutex mutex;

  void keep(Entry& entry, Buffer packed) {
    kept_bytes_ += packed.capacity();
    entry.packed = std::move(packed);
    entry.used = order_.insert(order_.end(), &entry);
  }
  void use(Entry& entry) { order_.splice(order_.end(), order_, entry.used); }
  // Drops the packed form of the entry and returns its memory, which the caller frees after it has
  // unlocked the mutex.
  Buffer forget(Entry& entry) {
    kept_bytes_ -= entry.packed.capacity();
    order_.erase(entry.used);
    return std::exchange(entry.packed, Buffer());
  }
  // Drops the forms that were used longest ago until at most `keep` bytes are left, and returns
  // their memory.
  std::vector<Buffer> forget_until(int64_t keep) {
    std::vector<Buffer> forgotten;
    while (kept_bytes_ > keep) forgotten.push_back(forget(*order_.front()));
    return forgotten;
  }
  int64_t kept() const { return static_cast<int64_t>(order_.size()); }
  int64_t kept_bytes() const { return kept_bytes_; }

 private:
  PackedWeightsLimit() {
    add_reclaimer([](int64_t keep) {
      std::vector<Buffer> forgotten;
      const std::lock_guard lock(process().mutex);
      forgotten = process().forget_until(keep);
    });
  }
  ~PackedWeightsLimit() = default;

  std::list<Entry*> order_;
  int64_t kept_bytes_ = 0;
};

namespace {

std::atomic<int64_t> times_packed{0};

Buffer pack_now(const PackedForm& form, const std::byte* data) {
  Buffer out = Buffer::allocate(form.bytes());
  form.pack(data, out.data());
  times_packed.fetch_add(1, std::memory_order_relaxed);
  return out;
}

// All PackedForms that exist, by their hashes.
struct Forms {
  ForkSafeMutex mutex;
  std::unordered_multimap<size_t, std::weak_ptr<const PackedForm>> known;
};
Forms& forms() {
  static Forms& all = *new Forms;
  return all;
}

}  // namespace

PackedFormRef shared_form(PackedFormRef form) {
  const size_t hash = form->hash();
  Forms& all = forms();
  // Forms are destroyed after the mutex is unlocked.
  std::vector<PackedFormRef> seen;
  const std::lock_guard lock(all.mutex);
  for (auto [it, end] = all.known.equal_range(hash); it != end;) {
    PackedFormRef other = it->second.lock();
    if (!other) {
      it = all.known.erase(it);
      continue;
    }
    if (form->equals(*other)) return other;
    seen.push_back(std::move(other));
    ++it;
  }
  all.known.emplace(hash, form);
  return form;
}

size_t PackedWeights::KeyHash::operator()(const Key& key) const {
  return hash_combine(std::hash<const void*>()(key.form), std::hash<const void*>()(key.data));
}

Buffer PackedWeights::get(const PackedFormRef& form, const std::byte* data) {
  PackedWeightsLimit& limit = PackedWeightsLimit::process();
  const Key key{form.get(), data};
  bool keep = false;
  {
    const std::lock_guard lock(limit.mutex);
    const auto [found, first] = entries_.try_emplace(key, Entry{.form = form});
    Entry& entry = found->second;
    if (entry.packed) {
      limit.use(entry);
      return entry.packed;
    }
    keep = (!first || keep_ == KeepPacked::kFirstUse) && !entry.packing;
    if (keep) entry.packing = true;
  }
  if (!keep) return pack_now(*form, data);

  Buffer made;
  std::exception_ptr failure;
  try {
    made = pack_now(*form, data);
  } catch (...) {
    failure = std::current_exception();
  }
  std::vector<Buffer> forgotten;  // freed after the mutex is unlocked
  {
    const std::lock_guard lock(limit.mutex);
    // The array may have been deleted meanwhile.
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.packing) {
      Entry& entry = found->second;
      entry.packing = false;
      const int64_t allowed = buffer_cache_limit();
      if (made && made.capacity() <= allowed) {
        forgotten = limit.forget_until(allowed - made.capacity());
        limit.keep(entry, made);
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
  return made;
}

void PackedWeights::clear() {
  Entries dead;
  std::vector<Buffer> forgotten;
  PackedWeightsLimit& limit = PackedWeightsLimit::process();
  const std::lock_guard lock(limit.mutex);
  for (auto& [key, entry] : entries_)
    if (entry.packed) forgotten.push_back(limit.forget(entry));
  entries_.swap(dead);
}

int64_t PackedWeights::bytes() const {
  const std::lock_guard lock(PackedWeightsLimit::process().mutex);
  int64_t bytes = 0;
  for (const auto& [key, entry] : entries_) bytes += entry.packed.capacity();
  return bytes;
}

LazyPackedWeights::~LazyPackedWeights() { delete weights_.load(std::memory_order_acquire); }

const std::shared_ptr<PackedWeights>& LazyPackedWeights::get() const {
  const std::shared_ptr<PackedWeights>* weights = weights_.load(std::memory_order_acquire);
  if (weights) return *weights;
  auto made = std::make_unique<const std::shared_ptr<PackedWeights>>(
      std::make_shared<PackedWeights>(keep_));
  // If several threads make one at the same time, one of them sets it.
  if (weights_.compare_exchange_strong(weights, made.get(), std::memory_order_acq_rel))
    weights = made.release();
  return *weights;
}

void LazyPackedWeights::clear() const {
  if (const auto* weights = weights_.load(std::memory_order_acquire)) (*weights)->clear();
}

int64_t LazyPackedWeights::bytes() const {
  const auto* weights = weights_.load(std::memory_order_acquire);
  return weights ? (*weights)->bytes() : 0;
}

Buffer packed(const PackedFormRef& form, const std::byte* data, const LazyPackedWeights* weights) {
  return weights ? weights->get()->get(form, data) : pack_now(*form, data);
}

PackingStats packing_stats() {
  PackedWeightsLimit& limit = PackedWeightsLimit::process();
  const std::lock_guard lock(limit.mutex);
  return {times_packed.load(), limit.kept(), limit.kept_bytes()};
}

}  // namespace tessera::runtime
