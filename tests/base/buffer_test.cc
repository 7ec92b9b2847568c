#include "tessera/base/buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/reclaim.h"

// Without this, sanitizers abort where the system's allocator returns null.
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace tessera::buffer_test {

namespace {

uintptr_t address(const Buffer& b) { return reinterpret_cast<uintptr_t>(b.data()); }

TEST(Buffer, AlignmentAndCapacity) {
  for (int64_t bytes :
       {0, 1, 63, 64, 65, 4096, 65536, 65537, 300000, (2 << 20) - 1, 2 << 20, (5 << 20) + 1}) {
    const Buffer b = Buffer::allocate(bytes);
    ASSERT_NE(b.data(), nullptr);
    EXPECT_GE(b.capacity(), bytes);
    EXPECT_EQ(address(b) % 64, 0u);
    if (bytes >= 2 << 20) {
      EXPECT_EQ(address(b) % (2 << 20), 0u);
    }
    std::memset(b.data(), 7, static_cast<size_t>(bytes));
  }
}

TEST(Buffer, HandlesShareOneBlock) {
  Buffer none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_FALSE(none.unique());
  Buffer a = Buffer::allocate(100);
  EXPECT_TRUE(a.unique());
  {
    const Buffer b = a;
    EXPECT_EQ(a, b);
    EXPECT_FALSE(a.unique());
  }
  EXPECT_TRUE(a.unique());
  const Buffer moved = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_TRUE(moved.unique());
}

TEST(Buffer, StatsFollowWhatIsHeld) {
  set_buffer_cache_limit(0);
  set_buffer_cache_limit(int64_t{1} << 30);
  const MemoryStats before = memory_stats();
  {
    const Buffer big = Buffer::allocate(10 << 20), small = Buffer::allocate(100);
    const MemoryStats now = memory_stats();
    EXPECT_EQ(now.live_bytes - before.live_bytes, (10 << 20) + 128);
    EXPECT_GE(now.peak_bytes, now.live_bytes);
  }
  const MemoryStats after = memory_stats();
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_GE(after.cached_bytes, 10 << 20);
  reset_peak_memory();
  EXPECT_EQ(memory_stats().peak_bytes, before.live_bytes);
}

TEST(Buffer, ReleasedMemoryIsReused) {
  for (int64_t bytes : {int64_t{100}, int64_t{200000}, int64_t{9} << 20}) {
    const uintptr_t first = address(Buffer::allocate(bytes));
    EXPECT_EQ(address(Buffer::allocate(bytes)), first) << bytes;
  }
}

TEST(Buffer, CacheStaysWithinItsLimit) {
  set_buffer_cache_limit(8 << 20);
  EXPECT_EQ(buffer_cache_limit(), 8 << 20);
  {
    std::vector<Buffer> held;
    for (int i = 1; i < 40; ++i) held.push_back(Buffer::allocate(i * 200000));
  }
  EXPECT_LE(memory_stats().cached_bytes, 8 << 20);
  set_buffer_cache_limit(0);
  EXPECT_LE(memory_stats().cached_bytes, 1 << 20);  // the thread's own small blocks
  set_buffer_cache_limit(int64_t{1} << 30);
  EXPECT_THROW(set_buffer_cache_limit(-1), UserError);
}

TEST(Buffer, NoMemoryIsARuntimeError) {
  try {
    Buffer::allocate(int64_t{1} << 60);
    FAIL() << "no error";
  } catch (const RuntimeError& e) {
    EXPECT_NE(std::string(e.what()).find("no memory for 1152921504606846976 bytes"),
              std::string::npos);
  }
}

// One thread allocates, others release: blocks must be reused, so that memory does not grow.
TEST(Buffer, ThreadsExchangeBlocks) {
  const int64_t live = memory_stats().live_bytes;
  for (int round = 0; round < 20; ++round) {
    std::vector<Buffer> made;
    for (int i = 0; i < 2000; ++i) made.push_back(Buffer::allocate(i % 3000 + 1));
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([part = std::vector<Buffer>(made.begin() + t * 600,
                                                       made.begin() + t * 600 + 600)]() mutable {
        part.clear();
        for (int i = 0; i < 100; ++i) Buffer::allocate(i * 50);
      });
    made.clear();
    for (std::thread& t : threads) t.join();
  }
  EXPECT_EQ(memory_stats().live_bytes, live);
  EXPECT_LT(memory_stats().cached_bytes, 64 << 20);
}

// Reclaimers are asked for memory when the limit changes, and when the system has no more memory.
TEST(Buffer, ReclaimersGiveBack) {
  static std::vector<int64_t> asked;
  add_reclaimer([](int64_t keep) { asked.push_back(keep); });
  const int64_t limit = buffer_cache_limit();
  set_buffer_cache_limit(1 << 20);
  set_buffer_cache_limit(limit);
  EXPECT_THROW(Buffer::allocate(int64_t{1} << 60), RuntimeError);
  EXPECT_EQ(asked, (std::vector<int64_t>{1 << 20, limit, 0}));
  Buffer::allocate(1 << 20);
  EXPECT_EQ(asked.size(), 3u);
}

TEST(Buffer, RandomUseKeepsContents) {
  std::mt19937 rng(1);
  std::vector<std::pair<Buffer, std::pair<int64_t, int>>> held;
  for (int step = 0; step < 20000; ++step) {
    if (held.size() < 40 && rng() % 2) {
      const auto bytes = static_cast<int64_t>(rng() % (rng() % 8 ? 3000 : 3000000)) + 1;
      const int tag = static_cast<int>(rng() % 256);
      Buffer b = Buffer::allocate(bytes);
      b.data()[0] = b.data()[bytes - 1] = static_cast<std::byte>(tag);
      held.push_back({std::move(b), {bytes, tag}});
    } else if (!held.empty()) {
      const size_t i = rng() % held.size();
      const auto [bytes, tag] = held[i].second;
      ASSERT_EQ(held[i].first.data()[0], static_cast<std::byte>(tag));
      ASSERT_EQ(held[i].first.data()[bytes - 1], static_cast<std::byte>(tag));
      held.erase(held.begin() + static_cast<ptrdiff_t>(i));
    }
  }
}

}  // namespace
}  // namespace tessera::buffer_test
