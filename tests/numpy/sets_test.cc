// Functions of sets, compared with jax.numpy: golden/make_calls_numpy.py.
#include "tessera/numpy/sets.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/logic.h"

namespace tessera::sets_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(Sets, AsInJax) {
  test::check_calls("calls_numpy", "sets", {
    TESSERA_CALL("isin", isin(a[0], a[1])),
        TESSERA_CALL("isin_invert", isin(a[0], a[1], {.invert = true})),
        TESSERA_CALL("isin_search", isin(a[0], a[1], {.method = IsinMethod::kBinarySearch})),
        TESSERA_CALL("isin_sort", isin(a[0], a[1], {.method = IsinMethod::kSort})),
        TESSERA_CALL("isin_nothing", isin(a[0], a[1])),
        TESSERA_CALL("union1d", union1d(a[0], a[1], 7)),
        TESSERA_CALL("union1d_fill", union1d(a[0], a[1], 12, Array(-7))),
        TESSERA_CALL("union1d_nan", union1d(a[0], a[1], 9)),
        TESSERA_CALL("intersect1d", intersect1d(a[0], a[1], 6)),
        TESSERA_CALL("intersect1d_few", intersect1d(a[0], a[1], 2)),
        TESSERA_CALL("intersect1d_fill", intersect1d(a[0], a[1], 8, {.fill_value = 99})),
        TESSERA_CALL("intersect1d_float", intersect1d(a[0], a[1], 5, {.fill_value = -1.0})),
        TESSERA_CALL("intersect1d_unique", intersect1d(a[0], a[1], 5, {.assume_unique = true})),
        TESSERA_CALL("setxor1d", setxor1d(a[0], a[1], 6)),
        TESSERA_CALL("setxor1d_few", setxor1d(a[0], a[1], 2)),
        TESSERA_CALL("setxor1d_fill", setxor1d(a[0], a[1], 8, {.fill_value = 99})),
        TESSERA_CALL("setxor1d_float", setxor1d(a[0], a[1], 5, {.fill_value = -1.0})),
        TESSERA_CALL("setxor1d_unique", setxor1d(a[0], a[1], 5, {.assume_unique = true})),
        TESSERA_CALL("setdiff1d", setdiff1d(a[0], a[1], 6)),
        TESSERA_CALL("setdiff1d_few", setdiff1d(a[0], a[1], 2)),
        TESSERA_CALL("setdiff1d_fill", setdiff1d(a[0], a[1], 8, {.fill_value = 99})),
        TESSERA_CALL("setdiff1d_float", setdiff1d(a[0], a[1], 5, {.fill_value = -1.0})),
        TESSERA_CALL("setdiff1d_unique", setdiff1d(a[0], a[1], 5, {.assume_unique = true})),
        TESSERA_CALL("intersect1d_none", intersect1d(a[0], a[1], 3)),
        TESSERA_CALL_MANY("intersect1d_indices",
                          const Intersect1d s = intersect1d_indices(a[0], a[1], 4);
                          return {s.values, s.indices1, s.indices2};),
        TESSERA_CALL("unique_values", unique_values(a[0], 7)),
        TESSERA_CALL_MANY("unique_counts", const UniqueCounts u = unique_counts(a[0], 9, Array(-5));
                          return {u.values, u.counts};),
        TESSERA_CALL_MANY("unique_inverse", const UniqueInverse u = unique_inverse(a[0], 7);
                          return {u.values, u.inverse_indices};),
        TESSERA_CALL("argwhere", argwhere(a[0] > 3, 6)),
        TESSERA_CALL("argwhere_fill", argwhere(a[0] > 3, 7, -1)),
        TESSERA_CALL("flatnonzero", flatnonzero(a[0] > 3, 6, 8)),
        TESSERA_CALL("compress", compress(a[0], a[1], 2, {.axis = 1})),
        TESSERA_CALL("compress_fill", compress(a[0], a[1], 4, {.axis = 2, .fill_value = 7})),
        TESSERA_CALL("compress_flat", compress(a[0], a[1], 2)),
        TESSERA_CALL("extract", extract(a[0] > 0, a[0], 5, -3)),
  });
}

TEST(Sets, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3});
  expect_error([&] { union1d(v, v, -1); }, "[union1d] expected a size >= 0, got -1");
  expect_error([&] { intersect1d(v, v, -1); }, "[intersect1d] expected a size >= 0");
  expect_error([&] { setxor1d(v, v, -1); }, "[setxor1d] expected a size >= 0");
  expect_error([&] { setdiff1d(v, v, -1); }, "[setdiff1d] expected a size >= 0");
  expect_error([&] { argwhere(v, -1); }, "[argwhere] expected a size >= 0");
  expect_error([&] { compress(m, v, 1); }, "[compress] expected a vector as the condition");
  expect_error([&] { compress(v, v, 5); }, "[compress] expected a size between 0 and the extent 4");
}

}  // namespace
}  // namespace tessera::sets_test
