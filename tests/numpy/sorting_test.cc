// Sorting and running totals: values as jax.numpy gives them.
#include "tessera/numpy/sorting.h"

#include <gmock/gmock.h>

#include <limits>

#include "run.h"
#include "tessera/numpy/operators.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/structural/sort.h"

namespace tessera::sorting_test {

using namespace ops;

namespace {

using namespace tessera::test;
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

// As in JAX, sort() and argsort() treat all NaNs as equal and both zeros as equal; the order of
// top_k is total.
TEST(Sorting, NanOfEitherSignAndZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = INFINITY;
  const std::vector<float> odd{1, nan, -nan, 0, -0.0F, 0, inf, -inf, -nan, nan, -1, -0.0F};
  for (const DType dtype : {float32, float16, bfloat16}) {
    const Literal x = convert_literal(Literal::from<float>(odd, {12}), dtype);
    const auto places = [](const Array& a) { return to_vector<int32_t>(a); };
    const auto all = [](const Arrays& a) {
      return Arrays{argsort(a[0]), argsort(a[0], {.descending = true}), top_k(a[0], 12).second,
                    top_k(a[0], 4).second,
                    lax::sort(std::vector<Array>{a[0], -a[0], lax::iota(int32, {12}, 0)}, 0, 2)[2]};
    };
    for (const auto& run : {run_eagerly, run_traced}) {
      const std::vector<Literal> got = run(all, {x});
      const auto expect = [&](size_t k, const std::vector<int32_t>& expected) {
        EXPECT_EQ(places(Array(got[k])), expected) << dtype_name(dtype) << ", result " << k;
      };
      expect(0, {7, 10, 3, 4, 5, 11, 0, 6, 1, 2, 8, 9});
      expect(1, {1, 2, 8, 9, 6, 0, 3, 4, 5, 11, 10, 7});
      expect(2, {1, 9, 6, 0, 3, 5, 4, 11, 10, 7, 2, 8});
      expect(3, {1, 9, 6, 0});
      expect(4, {7, 10, 3, 4, 5, 11, 0, 6, 1, 2, 8, 9});
    }
  }
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
}  // namespace tessera::sorting_test
