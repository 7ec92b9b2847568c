#include "tessera/base/source_location.h"

#include <gmock/gmock.h>

namespace tessera::source_location_test {
namespace {

SourceLocation called(int = 0, SourceLocation where = SourceLocation::current()) { return where; }

TEST(SourceLocation, OfADefaultArgumentIsTheCallers) {
  const uint32_t line = __LINE__ + 1;
  const SourceLocation first = called(), second = called(1);
  EXPECT_EQ(first.line(), line);
  EXPECT_EQ(second.line(), line);
  EXPECT_THAT(first.file_name(), testing::EndsWith("source_location_test.cc"));
  EXPECT_EQ(called(2).line(), line + 4);
}

TEST(SourceLocation, IsNowhereByDefault) {
  EXPECT_EQ(SourceLocation().line(), 0U);
  EXPECT_STREQ(SourceLocation().file_name(), "");
}

}  // namespace
}  // namespace tessera::source_location_test
