#include "tessera/codegen/machine_code/code_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace tessera::codegen::code_memory_test {
namespace {

int64_t mappings() {
  std::ifstream maps("/proc/self/maps");
  int64_t n = 0;
  for (std::string line; std::getline(maps, line);) ++n;
  return n;
}

TEST(CodeMemory, ManyBlocksAreFewMappings) {
  CodeMemory memory;
  const int64_t before = mappings();
  std::vector<CodeMemory::Block> blocks;
  for (int i = 0; i < 3000; ++i) {
    const CodeMemory::Block block = memory.allocate(1 + static_cast<size_t>(i % 9000));
    ASSERT_EQ(static_cast<int>(block.data[0]), 0);
    std::memset(block.data, i & 0xff, block.bytes);
    memory.seal(block);
    blocks.push_back(block);
  }
  EXPECT_LT(mappings() - before, 20);
  for (int i = 0; i < 3000; ++i)
    ASSERT_EQ(static_cast<int>(blocks[static_cast<size_t>(i)].data[0]), i & 0xff);
}

TEST(CodeMemory, FreedBlocksAreUsedAgainAndSlabsGivenBack) {
  CodeMemory memory;
  for (int round = 0; round < 3; ++round) {
    std::vector<CodeMemory::Block> blocks;
    for (int i = 0; i < 3000; ++i) {
      blocks.push_back(memory.allocate(4096));
      if (i % 2 == 0) memory.seal(blocks.back());
    }
    EXPECT_EQ(memory.used_bytes(), 3000u * 4096);
    EXPECT_EQ(memory.slabs(), 3u);
    // Frees the blocks in another order than they were allocated.
    for (size_t i = 0; i < blocks.size(); ++i) memory.free(blocks[i * 7 % blocks.size()]);
    EXPECT_EQ(memory.used_bytes(), 0u);
    EXPECT_EQ(memory.slabs(), 1u);
  }
}

TEST(CodeMemory, LargerThanASlab) {
  CodeMemory memory;
  const CodeMemory::Block block = memory.allocate(3 * CodeMemory::kSlabBytes - 5);
  block.data[block.bytes - 1] = std::byte{1};
  memory.seal(block);
  memory.free(block);
}

#if defined(__x86_64__)
TEST(CodeMemory, IsExecutableOnceSealed) {
  CodeMemory memory;
  const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};  // mov eax, 42; ret
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const CodeMemory::Block block = memory.allocate(sizeof code);
        std::memcpy(block.data, code, sizeof code);
        memory.seal(block);
        EXPECT_EQ(reinterpret_cast<int (*)()>(block.data)(), 42);
        memory.free(block);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.used_bytes(), 0u);
}
#endif

}  // namespace
}  // namespace tessera::codegen::code_memory_test
