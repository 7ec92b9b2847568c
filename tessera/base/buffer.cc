#include "tessera/base/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <new>
#include <vector>

#include "tessera/base/array_size.h"
#include "tessera/base/error.h"
#include "tessera/base/fork.h"
#include "tessera/base/format.h"
#include "tessera/base/reclaim.h"

namespace tessera {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = int64_t{2} << 20;
// Small blocks have 64 << c bytes, including the header in front. Each thread caches blocks of each
// class c.
constexpr int kSmallClasses = 11;
constexpr int64_t kMaxSmall = int64_t{64} << (kSmallClasses - 1);
constexpr int64_t kThreadCacheBytes = int64_t{256} << 10;  // of one class in one thread
constexpr int64_t kFlushBytes = int64_t{64} << 10;
static_assert(sizeof(BufferBlock) <= kAlignment);

[[noreturn]] void out_of_memory(int64_t bytes) {
  throw RuntimeError(
      fmt::format("[buffer] the system has no memory for {} bytes more; use smaller arrays, or "
                  "donate inputs that are not needed again",
                  bytes));
}

// Returns the size of a large block for this many bytes: below 2 MiB, sizes are at most an eighth
// apart; larger ones are multiples of 2 MiB.
int64_t round_large(int64_t bytes) {
  if (bytes >= kHugePage) return (bytes + kHugePage - 1) / kHugePage * kHugePage;
  const int64_t step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes))) / 8;
  return (bytes + step - 1) / step * step;
}

BufferBlock* new_large(int64_t capacity) {
  void* data = nullptr;
  if (exceeds_memory(capacity)) return nullptr;
  if (posix_memalign(&data, static_cast<size_t>(capacity >= kHugePage ? kHugePage : kAlignment),
                     static_cast<size_t>(capacity)) != 0)
    return nullptr;
  // Without huge pages the first touch of a 64 MiB result costs 16384 page faults. The system may
  // refuse the advice, on which nothing depends.
  if (capacity >= kHugePage) (void)madvise(data, static_cast<size_t>(capacity), MADV_HUGEPAGE);
  auto* block = new BufferBlock;
  block->size_class = BufferBlock::kLarge;
  block->capacity = capacity;
  block->data = static_cast<std::byte*>(data);
  return block;
}

BufferBlock* new_small(int size_class) {
  const int64_t capacity = int64_t{64} << size_class;
  void* memory = std::aligned_alloc(kAlignment, static_cast<size_t>(kAlignment + capacity));
  if (!memory) return nullptr;
  auto* block = new (memory) BufferBlock;
  block->size_class = size_class;
  block->capacity = capacity;
  block->data = static_cast<std::byte*>(memory) + kAlignment;
  return block;
}

// A block for memory of another owner, which is not counted and does not return to the pool.
struct BorrowedBlock : BufferBlock {
  std::function<void()> release;
};

void destroy(BufferBlock* block) {
  if (block->size_class >= 0) {
    block->~BufferBlock();
    std::free(block);
  } else {
    std::free(block->data);
    delete block;
  }
}

// The state that all threads share. It is never destroyed, since arrays may outlive static
// destructors.
struct Pool {
  std::atomic<int64_t> live{0}, peak{0}, cached{0}, limit{0};
  ForkSafeMutex mutex;
  std::array<BufferBlock*, kSmallClasses> small{};
  // The free blocks by capacity. Of equal ones, the one that was released last is used first,
  // because its memory may still be in the caches.
  std::multimap<int64_t, BufferBlock*> large;
  std::vector<Reclaimer> reclaimers;

  Pool() { limit = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 4; }

  void add_live(int64_t bytes) {
    const int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t before = peak.load(std::memory_order_relaxed);
    while (now > before && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
    }
  }

  BufferBlock* take_large(int64_t capacity) {
    const std::lock_guard lock(mutex);
    // Takes the last block of equal capacity, or else one that is at most a quarter larger.
    auto it = large.upper_bound(capacity);
    if (it != large.begin() && std::prev(it)->first == capacity) {
      --it;
    } else if (it == large.end() || it->first > capacity + capacity / 4) {
      return nullptr;
    }
    BufferBlock* block = it->second;
    large.erase(it);
    cached.fetch_sub(block->capacity, std::memory_order_relaxed);
    return block;
  }

  // Returns blocks to the system, the largest first, until the pool keeps at most `to` bytes.
  void trim(int64_t to) {
    std::vector<BufferBlock*> dead;
    {
      const std::lock_guard lock(mutex);
      while (cached.load() > to && !large.empty()) {
        auto last = std::prev(large.end());
        cached.fetch_sub(last->first);
        dead.push_back(last->second);
        large.erase(last);
      }
      for (BufferBlock*& head : small) {
        while (cached.load() > to && head) {
          BufferBlock* block = head;
          head = block->next;
          cached.fetch_sub(block->capacity);
          dead.push_back(block);
        }
      }
    }
    for (BufferBlock* block : dead) destroy(block);
  }

  // Calls all reclaimers, so that each other owner keeps at most `keep` bytes.
  void reclaim(int64_t keep) {
    std::vector<Reclaimer> all;
    {
      const std::lock_guard lock(mutex);
      all = reclaimers;
    }
    for (const Reclaimer reclaimer : all) reclaimer(keep);
  }

  void put_large(BufferBlock* block) {
    const int64_t allowed = limit.load(std::memory_order_relaxed);
    if (block->capacity > allowed) return destroy(block);
    {
      const std::lock_guard lock(mutex);
      large.emplace(block->capacity, block);
      cached.fetch_add(block->capacity, std::memory_order_relaxed);
    }
    if (cached.load(std::memory_order_relaxed) > allowed) trim(allowed);
  }
};

Pool& pool() {
  static Pool& instance = *new Pool;
  return instance;
}

// The free small blocks of a thread. It counts bytes by plain additions, and adds them to the
// shared counters every 64 KiB.
struct ThreadCache {
  std::array<BufferBlock*, kSmallClasses> heads{};
  std::array<int32_t, kSmallClasses> counts{};
  int64_t live = 0, cached = 0;

  ~ThreadCache();

  void flush_counters() {
    if (live != 0) pool().add_live(std::exchange(live, 0));
    if (cached != 0) pool().cached.fetch_add(std::exchange(cached, 0), std::memory_order_relaxed);
  }
  void count(int64_t live_bytes, int64_t cached_bytes) {
    live += live_bytes;
    cached += cached_bytes;
    if (live > kFlushBytes || live < -kFlushBytes || cached > kFlushBytes || cached < -kFlushBytes)
      flush_counters();
  }

  BufferBlock* take(int size_class) {
    const auto c = static_cast<size_t>(size_class);
    const int64_t capacity = int64_t{64} << size_class;
    BufferBlock* block = heads[c];
    if (block) {
      heads[c] = block->next;
      --counts[c];
      count(capacity, -capacity);
      return block;
    }
    return take_shared(size_class);
  }

  [[gnu::noinline]] BufferBlock* take_shared(int size_class) {
    const auto c = static_cast<size_t>(size_class);
    const int64_t capacity = int64_t{64} << size_class;
    BufferBlock* block = nullptr;
    {
      const std::lock_guard lock(pool().mutex);
      block = pool().small[c];
      if (block) pool().small[c] = block->next;
    }
    count(capacity, block ? -capacity : 0);
    if (!block) block = new_small(size_class);
    if (!block) {
      count(-capacity, 0);
      out_of_memory(capacity);
    }
    return block;
  }

  void put(BufferBlock* block) {
    const auto c = static_cast<size_t>(block->size_class);
    block->next = heads[c];
    heads[c] = block;
    ++counts[c];
    count(-block->capacity, block->capacity);
    if (counts[c] * block->capacity > std::max(kThreadCacheBytes, 4 * block->capacity))
      give_half(c);
  }

  // Returns half of the thread's blocks of class c to the pool: the thread releases more blocks
  // than it allocates.
  [[gnu::noinline]] void give_half(size_t c) {
    BufferBlock* first = heads[c];
    BufferBlock* last = first;
    const int32_t half = counts[c] / 2;
    for (int32_t i = 1; i < half; ++i) last = last->next;
    heads[c] = last->next;
    counts[c] -= half;
    flush_counters();
    {
      const std::lock_guard lock(pool().mutex);
      last->next = pool().small[c];
      pool().small[c] = first;
    }
    const int64_t allowed = pool().limit.load(std::memory_order_relaxed);
    if (pool().cached.load(std::memory_order_relaxed) > allowed) pool().trim(allowed);
  }
};

thread_local ThreadCache* this_thread_cache = nullptr;
thread_local bool thread_ended = false;

ThreadCache::~ThreadCache() {
  flush_counters();
  const std::lock_guard lock(pool().mutex);
  for (size_t c = 0; c < heads.size(); ++c) {
    while (BufferBlock* block = heads[c]) {
      heads[c] = block->next;
      block->next = pool().small[c];
      pool().small[c] = block;
    }
  }
  this_thread_cache = nullptr;
  thread_ended = true;
}

// Returns null if the thread's cache has been destroyed already: other thread_locals may release
// buffers afterwards.
ThreadCache* make_thread_cache() {
  if (thread_ended) return nullptr;
  static thread_local ThreadCache cache;
  return this_thread_cache = &cache;
}
ThreadCache* thread_cache() { return this_thread_cache ? this_thread_cache : make_thread_cache(); }

BufferBlock* allocate_large(int64_t bytes) {
  const int64_t capacity = round_large(bytes);
  BufferBlock* block = pool().take_large(capacity);
  if (!block) block = new_large(capacity);
  if (!block) {  // the pool may hold the memory that is missing
    pool().trim(0);
    block = new_large(capacity);
  }
  if (!block) {
    pool().reclaim(0);
    pool().trim(0);
    block = new_large(capacity);
  }
  if (!block) out_of_memory(bytes);
  pool().add_live(block->capacity);
  return block;
}

}  // namespace

BufferBlock* allocate_block(int64_t bytes) {
  TESSERA_CHECK(bytes >= 0, "a buffer of {} bytes", bytes);
  BufferBlock* block = nullptr;
  if (bytes <= kMaxSmall) {
    const int size_class =
        std::bit_width(static_cast<uint64_t>(std::max<int64_t>(bytes, 1) - 1) >> 6);
    if (ThreadCache* cache = thread_cache()) {
      block = cache->take(size_class);
    } else {
      block = new_small(size_class);
      if (!block) out_of_memory(bytes);
      pool().add_live(block->capacity);
    }
  } else {
    block = allocate_large(bytes);
  }
  block->owners.store(1, std::memory_order_relaxed);
  return block;
}

BufferBlock* borrow_block(std::byte* data, int64_t bytes, std::function<void()> release) {
  auto* block = new BorrowedBlock;
  block->owners.store(1, std::memory_order_relaxed);
  block->size_class = BufferBlock::kBorrowed;
  block->capacity = bytes;
  block->data = data;
  block->release = std::move(release);
  return block;
}

void release_block(BufferBlock* block) {
  if (block->size_class == BufferBlock::kBorrowed) {
    auto* borrowed = static_cast<BorrowedBlock*>(block);
    borrowed->release();
    delete borrowed;
    return;
  }
  if (block->size_class >= 0) {
    if (ThreadCache* cache = thread_cache()) return cache->put(block);
    pool().add_live(-block->capacity);
    return destroy(block);
  }
  pool().add_live(-block->capacity);
  pool().put_large(block);
}

MemoryStats memory_stats() {
  if (ThreadCache* cache = thread_cache()) cache->flush_counters();
  return {pool().live.load(), pool().cached.load(), pool().peak.load()};
}

void reset_peak_memory() {
  if (ThreadCache* cache = thread_cache()) cache->flush_counters();
  pool().peak.store(pool().live.load());
}

void set_buffer_cache_limit(int64_t bytes) {
  if (bytes < 0) value_error("set_buffer_cache_limit", "expected at least 0 bytes, got {}", bytes);
  pool().limit = bytes;
  pool().reclaim(bytes);
  if (ThreadCache* cache = thread_cache()) cache->flush_counters();
  pool().trim(bytes);
}
int64_t buffer_cache_limit() { return pool().limit.load(); }

void add_reclaimer(Reclaimer reclaimer) {
  const std::lock_guard lock(pool().mutex);
  pool().reclaimers.push_back(reclaimer);
}

}  // namespace tessera
