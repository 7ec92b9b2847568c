#include "tessera/codegen/machine_code/kernel_cache.h"

#include <gtest/gtest.h>

namespace tessera::codegen::kernel_cache_test {
namespace {

void nothing(void* const*, int64_t, int64_t) {}

// Returns code that increments *freed when it is destroyed.
KernelCode code(int* freed) {
  return {nothing, std::shared_ptr<const void>(freed, [](int* count) { ++*count; }), 100};
}

TEST(KernelCache, KeepsTheLatest) {
  KernelCache cache(2);
  int freed = 0;
  cache.add("a", code(&freed));
  cache.add("b", code(&freed));
  EXPECT_TRUE(cache.find("a").fn);
  cache.add("c", code(&freed));
  EXPECT_EQ(freed, 1);
  EXPECT_TRUE(cache.find("a").fn);
  EXPECT_FALSE(cache.find("b").fn);
  EXPECT_TRUE(cache.find("c").fn);
}

TEST(KernelCache, FindsWhatSomebodyHolds) {
  KernelCache cache(1);
  int freed = 0;
  KernelCode held = cache.add("a", code(&freed));
  cache.add("b", code(&freed));
  cache.clear();
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(cache.find("a").memory, held.memory);
  cache.clear();
  held = {};
  EXPECT_EQ(freed, 2);
  EXPECT_FALSE(cache.find("a").fn);
}

TEST(KernelCache, OfTwoForOneTextTheFirstStays) {
  KernelCache cache(4);
  int first = 0, second = 0;
  const KernelCode kept = cache.add("a", code(&first));
  EXPECT_EQ(cache.add("a", code(&second)).memory, kept.memory);
  EXPECT_EQ(second, 1);
}

TEST(KernelCache, ForgetsTextsWhoseCodeIsGone) {
  KernelCache cache(8);
  int freed = 0;
  for (int i = 0; i < 5000; ++i) cache.add(std::to_string(i), code(&freed));
  EXPECT_EQ(freed, 5000 - 8);
  EXPECT_LE(cache.size(), 1024u);
}

}  // namespace
}  // namespace tessera::codegen::kernel_cache_test
