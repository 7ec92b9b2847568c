// Sorting, running totals, counting and searching: values as jax.numpy gives them.
#include "tessera/numpy/sorting.h"

#include <gmock/gmock.h>

#include "run.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::vector<T> list(const Array& x) {
  return to_vector<T>(x);
}

TEST(Sorting, SortAndArgsort) {
  const Array x = array<float>({{3, 1, 2}, {0, 5, 4}});
  EXPECT_THAT(list<float>(sort(x)), ElementsAre(1, 2, 3, 0, 4, 5));
  EXPECT_THAT(list<float>(sort(x, {.axis = 0})), ElementsAre(0, 1, 2, 3, 5, 4));
  EXPECT_THAT(list<float>(sort(x, {.axis = std::nullopt, .descending = true})),
              ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(list<int32_t>(argsort(x)), ElementsAre(1, 2, 0, 0, 2, 1));
  const auto [values, places] = top_k(x, 2);
  EXPECT_THAT(list<float>(values), ElementsAre(3, 2, 5, 4));
  EXPECT_THAT(list<int32_t>(places), ElementsAre(0, 2, 1, 2));
  EXPECT_THROW(top_k(x, 4), UserError);
}

TEST(Sorting, RunningTotals) {
  const Array x = array<int32_t>({{1, 2}, {3, 4}});
  EXPECT_THAT(list<int32_t>(cumsum(x)), ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(list<int32_t>(cumsum(x, {.axis = 0})), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(list<int32_t>(cumprod(x, {.axis = -1})), ElementsAre(1, 2, 3, 12));
  EXPECT_THAT(list<int32_t>(cummax(array<int32_t>({2, 1, 3}))), ElementsAre(2, 2, 3));
  EXPECT_THAT(list<int32_t>(cummin(array<int32_t>({2, 1, 3}), {.reverse = true})),
              ElementsAre(1, 1, 3));
  EXPECT_THAT(list<int32_t>(cumsum(array<bool>({true, false, true}))), ElementsAre(1, 1, 2));
}

TEST(Sorting, Quantiles) {
  const Array x = array<float>({{3, 1, 2}, {0, 5, 4}});
  EXPECT_EQ(median(x).item<float>(), 2.5f);
  EXPECT_THAT(list<float>(median(x, {.axis = 1})), ElementsAre(2, 4));
  EXPECT_EQ(median(x, {.axis = 1, .keepdims = true}).shape(), (Shape{2, 1}));
  EXPECT_THAT(list<float>(quantile(x, array<float>({0, 0.5, 1}), {.axis = 0})),
              ElementsAre(0, 1, 2, 1.5, 3, 3, 3, 5, 4));
  EXPECT_THAT(list<float>(percentile(x, 25.0f, {.axis = 1})), ElementsAre(1.5, 2));
  EXPECT_TRUE(std::isnan(median(array<float>({1, NAN, 2})).item<float>()));
}

TEST(Sorting, SearchingAndCounting) {
  const Array edges = array<float>({0, 1, 2, 3}), v = array<float>({-1, 0, 1.5, 3, 9});
  EXPECT_THAT(list<int32_t>(searchsorted(edges, v)), ElementsAre(0, 0, 2, 3, 4));
  EXPECT_THAT(list<int32_t>(searchsorted(edges, v, true)), ElementsAre(0, 1, 2, 4, 4));
  EXPECT_THAT(list<int32_t>(digitize(v, edges)), ElementsAre(0, 1, 2, 4, 4));
  EXPECT_THAT(list<int32_t>(digitize(v, edges, true)), ElementsAre(0, 0, 2, 3, 4));
  const Array n = array<int32_t>({0, 2, 2, 9});
  EXPECT_THAT(list<int32_t>(bincount(n, 4)), ElementsAre(1, 0, 2, 0));
  EXPECT_THAT(list<float>(bincount(n, 3, array<float>({0.5, 1, 2, 3}))), ElementsAre(0.5, 0, 3));
  const auto [counts, borders] = histogram(v, {.bins = 3, .range = std::pair(0.0, 3.0)});
  EXPECT_THAT(list<float>(counts), ElementsAre(1, 1, 1));
  EXPECT_THAT(list<float>(borders), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(list<float>(histogram(v, {.bins = 2}).first), ElementsAre(4, 1));
}

TEST(Sorting, KnownSizes) {
  const Array x = array<int32_t>({{0, 7}, {5, 0}});
  const std::vector<Array> at = nonzero(x, 3, -1);
  EXPECT_THAT(list<int32_t>(at[0]), ElementsAre(0, 1, -1));
  EXPECT_THAT(list<int32_t>(at[1]), ElementsAre(1, 0, -1));
  EXPECT_THAT(list<int32_t>(nonzero(x, 1)[0]), ElementsAre(0));
  const Array y = array<int32_t>({3, 1, 3, 2, 1});
  EXPECT_THAT(list<int32_t>(unique(y, 3)), ElementsAre(1, 2, 3));
  EXPECT_THAT(list<int32_t>(unique(y, 5)), ElementsAre(1, 2, 3, 1, 1));
  EXPECT_THAT(list<int32_t>(unique(y, 5, Array(9))), ElementsAre(1, 2, 3, 9, 9));
}

TEST(Sorting, Errors) {
  const Array x = array<float>({{3, 1, 2}, {0, 5, 4}});
  const auto message = [](auto f) -> std::string {
    try {
      f();
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message([&] { searchsorted(x, x); }), HasSubstr("[searchsorted] expected a vector"));
  EXPECT_THAT(message([&] { bincount(array<float>({1}), 2); }),
              HasSubstr("[bincount] expected integers"));
  EXPECT_THAT(message([&] { quantile(x, x); }),
              HasSubstr("[quantile] expected a scalar or vector"));
  EXPECT_THAT(message([&] { nonzero(x, -1); }), HasSubstr("[nonzero] expected a size >= 0"));
  EXPECT_THAT(message([&] { unique(x, -1); }), HasSubstr("[unique] expected a size >= 0"));
  EXPECT_THAT(message([&] { histogram(x, {.bins = 0}); }),
              HasSubstr("[histogram] expected at least one bin"));
}

}  // namespace
}  // namespace tessera
