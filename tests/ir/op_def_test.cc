#include "tessera/ir/op_def.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::ir {
namespace {

TEST(AttributeNames, AreAtMostSixteen) {
  const AttributeNames names = {"a", "b"};
  EXPECT_THAT(std::vector(names.begin(), names.end()), testing::ElementsAre("a", "b"));
  EXPECT_TRUE(AttributeNames().empty());
  EXPECT_THROW(AttributeNames({"", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", ""}),
               InternalError);
}

}  // namespace
}  // namespace tessera::ir
