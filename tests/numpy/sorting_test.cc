// Sorting and running totals: values as jax.numpy gives them.
#include "tessera/numpy/sorting.h"

#include <gmock/gmock.h>

#include "run.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

TEST(Sorting, SortAndArgsort) {
  const Array x = array<float>({{3, 1, 2}, {0, 5, 4}});
  EXPECT_THAT(to_vector<float>(sort(x)), ElementsAre(1, 2, 3, 0, 4, 5));
  EXPECT_THAT(to_vector<float>(sort(x, {.axis = 0})), ElementsAre(0, 1, 2, 3, 5, 4));
  EXPECT_THAT(to_vector<float>(sort(x, {.axis = std::nullopt, .descending = true})),
              ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(to_vector<int32_t>(argsort(x)), ElementsAre(1, 2, 0, 0, 2, 1));
  const auto [values, places] = top_k(x, 2);
  EXPECT_THAT(to_vector<float>(values), ElementsAre(3, 2, 5, 4));
  EXPECT_THAT(to_vector<int32_t>(places), ElementsAre(0, 2, 1, 2));
  EXPECT_THROW(top_k(x, 4), UserError);
}

TEST(Sorting, RunningTotals) {
  const Array x = array<int32_t>({{1, 2}, {3, 4}});
  EXPECT_THAT(to_vector<int32_t>(cumsum(x)), ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(to_vector<int32_t>(cumsum(x, {.axis = 0})), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(to_vector<int32_t>(cumprod(x, {.axis = -1})), ElementsAre(1, 2, 3, 12));
  EXPECT_THAT(to_vector<int32_t>(cummax(array<int32_t>({2, 1, 3}))), ElementsAre(2, 2, 3));
  EXPECT_THAT(to_vector<int32_t>(cummin(array<int32_t>({2, 1, 3}), {.reverse = true})),
              ElementsAre(1, 1, 3));
  EXPECT_THAT(to_vector<int32_t>(cumsum(array<bool>({true, false, true}))), ElementsAre(1, 1, 2));
}

}  // namespace
}  // namespace tessera
