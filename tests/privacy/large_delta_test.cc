#include "tessera/privacy/accounting/large_delta.h"

#include "tessera/base/warning.h"

namespace tessera::privacy::accounting::large_delta_test {
namespace {

TEST(LargeDelta, IsWarnedOfFromOneInNumExamplesOn) {
  std::vector<std::string> seen;
  const WarningHandler before =
      set_warning_handler([&](const std::string& text) { seen.push_back(text); });
  warn_of_large_delta("op", 0.0099, 100);
  EXPECT_TRUE(seen.empty());
  warn_of_large_delta("op", 0.01, 100);
  warn_of_large_delta("op", 0.5, 100);
  set_warning_handler(before);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0],
            "[op] expected a delta below 1 / num_examples = 0.01, got 0.01, which a mechanism has "
            "that publishes an example chosen at random; take 0.001 or less");
}

}  // namespace
}  // namespace tessera::privacy::accounting::large_delta_test
