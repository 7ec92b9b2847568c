// The versions of VHLO's ops.
#include "tessera/ir/bytecode/op_table.h"

#include <gtest/gtest.h>

#include "tests/forks.h"

namespace tessera::ir::bytecode::op_table_test {
namespace {

TEST(OpTable, FindsTheOpOfAVersion) {
  const VhloVersion* add = find_vhlo("add", {1, 17, 0});
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->name, "add_v1");
  EXPECT_EQ(find_vhlo("add", {0, 9, 0}), add);
  EXPECT_EQ(find_vhlo("no_such_op", {1, 17, 0}), nullptr);
}

TEST(OpTable, ForksWhileThreadsLookOpsUp) {
  test::expect_work_in_children([](int) { find_vhlo("abs", {1, 17, 0}); }, 200);
}

}  // namespace
}  // namespace tessera::ir::bytecode::op_table_test
