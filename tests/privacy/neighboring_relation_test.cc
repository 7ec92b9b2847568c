#include "tessera/privacy/neighboring_relation.h"

namespace tessera::privacy::neighboring_relation_test {
namespace {

TEST(NeighboringRelation, HasDpAccountingsNames) {
  EXPECT_STREQ(name(NeighboringRelation::kAddOrRemoveOne), "add_or_remove_one");
  EXPECT_STREQ(name(NeighboringRelation::kReplaceOne), "replace_one");
  EXPECT_STREQ(name(NeighboringRelation::kReplaceSpecial), "replace_special");
}

}  // namespace
}  // namespace tessera::privacy::neighboring_relation_test
