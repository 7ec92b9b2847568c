#include "tessera/mesh/text_grid.h"

#include <gmock/gmock.h>

namespace tessera::text_grid_test {
namespace {

using ::testing::ElementsAre;

TEST(TextGrid, DrawsRowsAndColumns) {
  std::vector<GridRow> rows = {{{{"a"}, 5, 1}, {{"long"}, 0, 0}},
                               {{{"b", "cc"}, 5, 4}, {{}, 0, 0}}};
  EXPECT_THAT(natural_widths(rows), ElementsAre(3, 4));
  EXPECT_THAT(label_widths(rows), ElementsAre(2, 4));
  EXPECT_EQ(total_width({3, 4}), 10);
  EXPECT_EQ(draw_grid(rows, {3, 4}),
            "┌───┬────┐\n"
            "│ a │long│\n"
            "├───┼────┤\n"
            "│ b │    │\n"
            "│cc │    │\n"
            "│   │    │\n"
            "└───┴────┘\n");
}

TEST(TextGrid, ShrinksTheWidestFirstAndNoneBelowItsLeast) {
  EXPECT_THAT(shrunk_widths({10, 4, 20}, {2, 2, 2}, 100), ElementsAre(10, 4, 20));
  EXPECT_THAT(shrunk_widths({10, 4, 20}, {2, 2, 2}, 24), ElementsAre(8, 4, 8));
  EXPECT_THAT(shrunk_widths({10, 4, 20}, {2, 2, 12}, 24), ElementsAre(4, 4, 12));
  EXPECT_THAT(shrunk_widths({10, 4, 20}, {9, 4, 9}, 5), ElementsAre(9, 4, 9));
  EXPECT_TRUE(shrunk_widths({}, {}, 5).empty());
}

TEST(TextGrid, WrapsAfterCommasOnly) {
  EXPECT_THAT(wrap_at_commas("a,b,c", 5), ElementsAre("a,b,c"));
  EXPECT_THAT(wrap_at_commas("a,b,c", 4), ElementsAre("a,b,", "c"));
  EXPECT_THAT(wrap_at_commas("10, 20, 30", 4), ElementsAre("10,", "20,", "30"));
  EXPECT_THAT(wrap_at_commas("toolong,b", 3), ElementsAre("toolong,", "b"));
  EXPECT_THAT(wrap_at_commas("", 3), ElementsAre(""));
}

}  // namespace
}  // namespace tessera::text_grid_test
