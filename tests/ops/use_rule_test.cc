// Which ops have use rules, and of which kind.
#include "tessera/ops/core/use_rule.h"

#include <gmock/gmock.h>

#include "tessera/control/control_flow_ops.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/linear/convolution.h"
#include "tessera/ops/linear/dot_general.h"

namespace tessera::use_rule_test {

using namespace ops;

namespace {

TEST(UseRule, ProductsAreOuterProducts) {
  for (const OpDef* def : {&dot_general_op, &convolution_op, &gather_op}) {
    SCOPED_TRACE(def->name);
    const UseRule* rule = find_use_rule(*def);
    ASSERT_NE(rule, nullptr);
    EXPECT_TRUE(rule->outer_product);
    EXPECT_FALSE(rule->uses);
  }
}

TEST(UseRule, LinearOpsWithRegionsHaveUsesInside) {
  const UseRule* scan = find_use_rule(scan_op);
  ASSERT_NE(scan, nullptr);
  EXPECT_TRUE(scan->uses);
  EXPECT_FALSE(scan->outer_product);
  std::vector<std::string> names;
  for (const OpDef* def : all_ops())
    if (const UseRule* rule = find_use_rule(*def); rule && rule->uses)
      names.emplace_back(def->name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("scan", "custom_linear", "checkpoint_linear"));
}

TEST(UseRule, OtherOpsHaveNone) { EXPECT_EQ(find_use_rule(add_op), nullptr); }

TEST(UseRule, IsRegisteredOnce) {
  EXPECT_FALSE(register_use_rule(dot_general_op, {}));
  EXPECT_TRUE(find_use_rule(dot_general_op)->outer_product);
}

}  // namespace
}  // namespace tessera::use_rule_test
