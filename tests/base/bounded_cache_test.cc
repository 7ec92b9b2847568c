#include "tessera/base/bounded_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/forks.h"

namespace tessera::bounded_cache_test {
namespace {

constexpr auto kLevel = ForkParticipant::Level::kLeaves;
using Cache = BoundedCache<std::string, std::shared_ptr<int>>;

std::optional<std::shared_ptr<int>> find(Cache& cache, const std::string& key) {
  return cache.find(std::hash<std::string>()(key), [&](const std::string& k) { return k == key; });
}
std::shared_ptr<int> insert(Cache& cache, const std::string& key, int value, int64_t bytes = 0) {
  return cache.insert(std::hash<std::string>()(key), key, std::make_shared<int>(value), bytes);
}
bool has(Cache& cache, const std::string& key) { return find(cache, key).has_value(); }

TEST(BoundedCache, FindsByKey) {
  Cache cache(10, kLevel);
  EXPECT_FALSE(has(cache, "a"));
  EXPECT_EQ(*insert(cache, "a", 1), 1);
  insert(cache, "b", 2);
  EXPECT_EQ(**find(cache, "a"), 1);
  EXPECT_EQ(**find(cache, "b"), 2);
  EXPECT_FALSE(has(cache, "c"));
  EXPECT_EQ(cache.size(), 2u);
}

TEST(BoundedCache, TellsKeysOfOneHashApart) {
  BoundedCache<int, int> cache(10, kLevel);
  for (int i = 0; i < 5; ++i) cache.insert(7, i, 10 * i);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(cache.find(7, [&](int key) { return key == i; }), 10 * i);
  EXPECT_EQ(cache.find(7, [](int key) { return key == 5; }), std::nullopt);
  EXPECT_EQ(cache.find(8, [](int) { return true; }), std::nullopt);
}

TEST(BoundedCache, TheEntriesUsedLastStay) {
  Cache cache(3, kLevel);
  for (const char* key : {"a", "b", "c"}) insert(cache, key, 0);
  EXPECT_TRUE(has(cache, "a"));
  insert(cache, "d", 0);  // "b" was used the longest time ago
  EXPECT_FALSE(has(cache, "b"));
  for (const char* key : {"a", "c", "d"}) EXPECT_TRUE(has(cache, key)) << key;
  insert(cache, "a", 0);  // uses the value that is there
  insert(cache, "e", 0);
  EXPECT_FALSE(has(cache, "c"));
  EXPECT_TRUE(has(cache, "a"));
  EXPECT_EQ(cache.size(), 3u);
}

TEST(BoundedCache, EvictsOneOfSeveralWithOneHash) {
  BoundedCache<int, int> cache(2, kLevel);
  for (int i = 0; i < 4; ++i) cache.insert(7, i, i);
  EXPECT_EQ(cache.find(7, [](int key) { return key == 1; }), std::nullopt);
  EXPECT_EQ(cache.find(7, [](int key) { return key == 2; }), 2);
  EXPECT_EQ(cache.find(7, [](int key) { return key == 3; }), 3);
}

TEST(BoundedCache, OfTwoForOneKeyTheFirstStays) {
  Cache cache(3, kLevel);
  const std::shared_ptr<int> first = insert(cache, "a", 1, 5);
  EXPECT_EQ(insert(cache, "a", 2, 9), first);
  EXPECT_EQ(*find(cache, "a"), first);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.bytes(), 5);
}

TEST(BoundedCache, StaysWithinItsBytesButForTheLast) {
  Cache cache(100, kLevel, 10);
  insert(cache, "a", 0, 4);
  insert(cache, "b", 0, 6);
  EXPECT_EQ(cache.bytes(), 10);
  insert(cache, "c", 0, 3);  // "a" is removed to make room
  EXPECT_FALSE(has(cache, "a"));
  EXPECT_EQ(cache.bytes(), 9);
  insert(cache, "d", 0, 50);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_TRUE(has(cache, "d"));
  EXPECT_EQ(cache.bytes(), 50);
}

TEST(BoundedCache, FindsTheLatestWithoutAHash) {
  Cache cache(3, kLevel);
  const auto latest = [&](const std::string& key) {
    return cache.find_latest([&](const std::string& k) { return k == key; });
  };
  EXPECT_FALSE(latest("a"));
  insert(cache, "a", 1);
  insert(cache, "b", 2);
  EXPECT_FALSE(latest("a"));
  EXPECT_EQ(**latest("b"), 2);
  find(cache, "a");
  EXPECT_EQ(**latest("a"), 1);
}

TEST(BoundedCache, GivesAwayAllThatItHas) {
  Cache cache(3, kLevel);
  std::weak_ptr<int> a = insert(cache, "a", 1, 7);
  {
    const auto all = cache.take_all();
    EXPECT_EQ(cache.size(), 0u);
    EXPECT_EQ(cache.bytes(), 0);
    EXPECT_FALSE(has(cache, "a"));
    ASSERT_EQ(all.size(), 1u);
    EXPECT_FALSE(a.expired());
  }
  EXPECT_TRUE(a.expired());
  a = insert(cache, "a", 1);
  cache.clear();
  EXPECT_TRUE(a.expired());
}

// A value that calls the cache when it is destroyed. The cache's lock must be free then.
struct AsksAtItsEnd {
  BoundedCache<int, std::shared_ptr<AsksAtItsEnd>>* cache;
  size_t* size;
  ~AsksAtItsEnd() { *size = cache->size(); }
};
TEST(BoundedCache, DestroysWhatLeavesOutsideOfItsLock) {
  BoundedCache<int, std::shared_ptr<AsksAtItsEnd>> cache(1, kLevel);
  size_t size = 99;
  const auto insert = [&](int key) {
    cache.insert(static_cast<size_t>(key), key, std::make_shared<AsksAtItsEnd>(&cache, &size));
  };
  insert(1);
  insert(2);
  EXPECT_EQ(size, 1u);
  insert(2);  // there is already a value for 2
  EXPECT_EQ(size, 1u);
  cache.clear();
  EXPECT_EQ(size, 0u);
}

TEST(BoundedCache, ManyThreads) {
  BoundedCache<int, std::shared_ptr<int>> cache(50, kLevel);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20000; ++i) {
        const int key = (i * (t + 1)) % 80;
        const auto hash = static_cast<size_t>(key % 7);
        auto found = cache.find(hash, [&](int k) { return k == key; });
        if (!found) found = cache.insert(hash, key, std::make_shared<int>(key));
        wrong += **found != key;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.size(), 50u);
}

// The fork waits for a thread that holds the cache's lock. Otherwise the lock would stay held in
// the child for ever.
TEST(BoundedCache, AChildFindsItWhole) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer allows no threads in a child of a fork";
#endif
  BoundedCache<int, int> cache(3, kLevel);
  cache.insert(1, 1, 10);
  std::atomic<bool> inside = false;
  std::thread holder([&] {
    cache.find(1, [&](int) {
      inside = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return true;
    });
  });
  while (!inside) std::this_thread::yield();
  EXPECT_TRUE(
      test::in_child([&] { return cache.find(1, [](int key) { return key == 1; }) == 10; }));
  holder.join();
}

}  // namespace
}  // namespace tessera::bounded_cache_test
