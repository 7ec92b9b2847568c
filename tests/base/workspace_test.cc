#include "tessera/base/workspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace tessera::workspace_test {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

const void* address(int64_t bytes) { return Workspace<char>(bytes).data(); }

TEST(Workspace, IsAlignedAndLargeEnough) {
  for (int64_t count : {0, 1, 9, 8192, 8193, 1 << 20}) {
    const Workspace<double> memory(count);
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
    std::memset(memory.data(), 1, static_cast<size_t>(count) * sizeof(double));
  }
}

TEST(Workspace, SeveralAtATimeDoNotOverlap) {
  std::vector<std::unique_ptr<Workspace<int64_t>>> all;
  for (int64_t i = 0; i < 20; ++i) {
    all.push_back(std::make_unique<Workspace<int64_t>>(10000 + 1000 * i));
    std::fill_n(all.back()->data(), 10000, i);
  }
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t k : {0, 5000, 9999}) EXPECT_EQ(all[static_cast<size_t>(i)]->data()[k], i);
}

TEST(Workspace, TheThreadKeepsWhatItGaveBack) {
  std::thread([] {
    const int64_t before = memory_stats().live_bytes;
    const void* first = address(3 * kMiB);
    EXPECT_GE(memory_stats().live_bytes, before + 3 * kMiB);
    EXPECT_EQ(address(3 * kMiB), first);
    EXPECT_EQ(address(2 * kMiB), first);  // a bit larger than needed
    EXPECT_NE(address(kMiB / 2), first);  // much larger
    std::thread([&] { EXPECT_NE(address(3 * kMiB), first); }).join();
  }).join();
}

TEST(Workspace, TheSmallestThatFitsIsTaken) {
  std::thread([] {
    const void *small = nullptr, *large = nullptr;
    {
      const Workspace<char> a(8 * kMiB), b(4 * kMiB);
      large = a.data();
      small = b.data();
    }
    EXPECT_EQ(address(4 * kMiB), small);
    EXPECT_EQ(address(6 * kMiB), large);
  }).join();
}

TEST(Workspace, KeepsNoMoreThanItsBound) {
  std::thread([] {
    const int64_t before = memory_stats().live_bytes;
    {
      std::vector<std::unique_ptr<Workspace<char>>> all;
      for (int i = 0; i < 10; ++i) all.push_back(std::make_unique<Workspace<char>>(16 * kMiB));
      all.push_back(std::make_unique<Workspace<char>>(100 * kMiB));
      EXPECT_GE(memory_stats().live_bytes, before + 260 * kMiB);
    }
    EXPECT_EQ(memory_stats().live_bytes, before + 64 * kMiB);
  }).join();
}

TEST(Workspace, GoesBackToThePoolWithItsThread) {
  const int64_t before = memory_stats().live_bytes;
  std::thread([] { address(3 * kMiB); }).join();
  EXPECT_EQ(memory_stats().live_bytes, before);
}

}  // namespace
}  // namespace tessera::workspace_test
