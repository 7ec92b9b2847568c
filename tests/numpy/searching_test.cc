// Searching and counting: values as jax.numpy gives them.
#include "tessera/numpy/searching.h"

#include <gmock/gmock.h>

#include "run.h"

namespace tessera::searching_test {
namespace {

using ::testing::ElementsAre;

TEST(Searching, SearchingAndCounting) {
  const Array edges = array<float>({0, 1, 2, 3}), v = array<float>({-1, 0, 1.5, 3, 9});
  EXPECT_THAT(to_vector<int32_t>(searchsorted(edges, v)), ElementsAre(0, 0, 2, 3, 4));
  EXPECT_THAT(to_vector<int32_t>(searchsorted(edges, v, {.side = Side::kRight})),
              ElementsAre(0, 1, 2, 4, 4));
  EXPECT_THAT(to_vector<int32_t>(digitize(v, edges)), ElementsAre(0, 1, 2, 4, 4));
  EXPECT_THAT(to_vector<int32_t>(digitize(v, edges, true)), ElementsAre(0, 0, 2, 3, 4));
  const Array n = array<int32_t>({0, 2, 2, 9});
  EXPECT_THAT(to_vector<int32_t>(bincount(n, 4)), ElementsAre(1, 0, 2, 0));
  EXPECT_THAT(to_vector<float>(bincount(n, 3, array<float>({0.5, 1, 2, 3}))),
              ElementsAre(0.5, 0, 3));
  const auto [counts, borders] = histogram(v, {.bins = 3, .range = std::pair(0.0, 3.0)});
  EXPECT_THAT(to_vector<float>(counts), ElementsAre(1, 1, 1));
  EXPECT_THAT(to_vector<float>(borders), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(to_vector<float>(histogram(v, {.bins = 2}).first), ElementsAre(4, 1));
}

TEST(Searching, KnownSizes) {
  const Array x = array<int32_t>({{0, 7}, {5, 0}});
  const std::vector<Array> at = nonzero(x, 3, -1);
  EXPECT_THAT(to_vector<int32_t>(at[0]), ElementsAre(0, 1, -1));
  EXPECT_THAT(to_vector<int32_t>(at[1]), ElementsAre(1, 0, -1));
  EXPECT_THAT(to_vector<int32_t>(nonzero(x, 1)[0]), ElementsAre(0));
  const Array y = array<int32_t>({3, 1, 3, 2, 1});
  EXPECT_THAT(to_vector<int32_t>(unique(y, 3)), ElementsAre(1, 2, 3));
  EXPECT_THAT(to_vector<int32_t>(unique(y, 5)), ElementsAre(1, 2, 3, 1, 1));
  EXPECT_THAT(to_vector<int32_t>(unique(y, 5, {.fill_value = Array(9)})),
              ElementsAre(1, 2, 3, 9, 9));
}

}  // namespace
}  // namespace tessera::searching_test
