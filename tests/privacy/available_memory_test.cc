// The memory that is left, by the files of the system.
#include "tessera/privacy/available_memory.h"

#include "../io/files.h"
#include "tessera/base/error.h"

namespace tessera::privacy::internal::available_memory_test {
namespace {

class AvailableMemoryTest : public tessera::test::FolderTest {
 protected:
  int64_t available() { return available_memory(path("meminfo"), folder_); }
  void write(const char* name, const std::string& text) {
    tessera::test::write_bytes(path(name), text);
  }
};

TEST_F(AvailableMemoryTest, OfTheMachineOrOfTheGroupsLimit) {
  write("meminfo", "MemTotal:  9000 kB\nMemFree: 10 kB\nMemAvailable:    4000 kB\n");
  EXPECT_EQ(available(), 4000 * 1024);
  write("memory.max", "max\n");
  write("memory.current", "100\n");
  EXPECT_EQ(available(), 4000 * 1024);
  write("memory.max", "1100\n");
  EXPECT_EQ(available(), 1000);
  write("memory.max", "50\n");
  EXPECT_EQ(available(), 0);
}

TEST_F(AvailableMemoryTest, WhereNothingIsSaid) {
  write("meminfo", "MemTotal: 9000 kB\n");
  EXPECT_THROW(available(), RuntimeError);
}

TEST_F(AvailableMemoryTest, OfThisMachine) { EXPECT_GT(available_memory(), 1 << 20); }

}  // namespace
}  // namespace tessera::privacy::internal::available_memory_test
