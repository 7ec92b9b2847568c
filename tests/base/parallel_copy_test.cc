#include "tessera/base/parallel_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tessera::parallel_copy_test {
namespace {

std::vector<std::byte> some_bytes(size_t count) {
  std::vector<std::byte> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  return out;
}

// Below and above a task, around the caches, and from and to addresses that are not aligned.
TEST(ParallelCopy, CopiesEveryByteAndNoOther) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{1} << 20, (size_t{3} << 20) + 5,
                             static_cast<size_t>(kStreamingBytes) + 77}) {
    const std::vector<std::byte> from = some_bytes(count + 3);
    std::vector<std::byte> to(count + 8, std::byte{0xee});
    copy_bytes(to.data() + 5, from.data() + 3, static_cast<int64_t>(count));
    EXPECT_TRUE(std::equal(from.begin() + 3, from.end(), to.begin() + 5)) << count;
    EXPECT_EQ(to[4], std::byte{0xee});
    EXPECT_EQ(to[count + 5], std::byte{0xee});
  }
}

TEST(ParallelCopy, FillsEveryByteAndNoOther) {
  for (const size_t count : {size_t{0}, size_t{7}, (size_t{2} << 20) + 1}) {
    std::vector<std::byte> to(count + 2, std::byte{0xee});
    fill_zeros(to.data() + 1, static_cast<int64_t>(count));
    EXPECT_EQ(std::count(to.begin(), to.end(), std::byte{0}), static_cast<int64_t>(count));
    EXPECT_EQ(to.front(), std::byte{0xee});
    EXPECT_EQ(to.back(), std::byte{0xee});
  }
}

}  // namespace
}  // namespace tessera::parallel_copy_test
