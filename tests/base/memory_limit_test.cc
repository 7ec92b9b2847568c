#include "tessera/base/memory_limit.h"

#include <gtest/gtest.h>
#include <sys/sysinfo.h>

#include "tessera/base/array_size.h"

namespace tessera::memory_limit_test {
namespace {

TEST(MemoryLimit, IsAtMostTheMachines) {
  struct sysinfo info {};
  ASSERT_EQ(sysinfo(&info), 0);
  EXPECT_GT(memory_limit(), 0);
  EXPECT_LE(memory_limit(), static_cast<int64_t>(info.totalram + info.totalswap) * info.mem_unit);
  EXPECT_FALSE(exceeds_memory(memory_limit()));
  EXPECT_TRUE(exceeds_memory(memory_limit() + 1));
}

TEST(MemoryLimit, ControlGroupsStateNumbersOrNone) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), int64_t{1} << 30);
  EXPECT_EQ(parse_memory_limit("0\n"), 0);
  for (const char* none : {"max\n", "", "-1\n", "99999999999999999999\n"})
    EXPECT_EQ(parse_memory_limit(none), kMaxArrayBytes) << none;
  EXPECT_EQ(parse_memory_limit("9223372036854771712\n"), kMaxArrayBytes);
}

TEST(MemoryLimit, TheGroupOfVersion2IsFound) {
  EXPECT_EQ(control_group("0::/user.slice/a\n"), "/user.slice/a");
  EXPECT_EQ(control_group("12:memory:/b\n1:name=systemd:/c\n0::/d\n"), "/d");
  EXPECT_EQ(control_group("0::/"), "/");
  EXPECT_EQ(control_group("12:memory:/b\n"), "");
  EXPECT_EQ(control_group(""), "");
}

}  // namespace
}  // namespace tessera::memory_limit_test
