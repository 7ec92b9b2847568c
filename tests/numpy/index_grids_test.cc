// Compares arrays of indices with jax.numpy (golden/make_calls_numpy.py).
#include "tessera/numpy/index_grids.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::index_grids_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(IndexGrids, AsInJax) {
  test::check_calls("calls_numpy", "index_grids", {
    TESSERA_CALL("indices", indices({2, 3})),
        TESSERA_CALL("indices_float", indices({2, 3}, float32)),
        TESSERA_CALL_MANY("sparse_indices", return sparse_indices({2, 3});),
        TESSERA_CALL_MANY("ix_", return ix_({a[0], a[1]});),
        TESSERA_CALL_MANY("diag_indices", return diag_indices(3, 3);),
        TESSERA_CALL_MANY("diag_indices_from", return diag_indices_from(a[0]);),
        TESSERA_CALL_MANY("tril_indices", return tril_indices(3, 1, 5);),
        TESSERA_CALL_MANY("triu_indices", return triu_indices(4, -1);),
        TESSERA_CALL_MANY("tril_indices_from", return tril_indices_from(a[0]);),
        TESSERA_CALL_MANY("triu_indices_from", return triu_indices_from(a[0], 2);),
        TESSERA_CALL_MANY("mask_indices", return mask_indices(3, triu, 4, 1);),
        TESSERA_CALL_MANY("unravel_index", return unravel_index(a[0], {3, 4});),
        TESSERA_CALL("ravel_multi_index", ravel_multi_index({a[0], a[1]}, {3, 4})),
        TESSERA_CALL("ravel_multi_index_clip",
                     ravel_multi_index({a[0], a[1]}, {3, 4}, RavelMode::kClip)),
        TESSERA_CALL("ravel_multi_index_wrap",
                     ravel_multi_index({a[0], a[1]}, {3, 4}, RavelMode::kWrap)),
  });
}

TEST(IndexGrids, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), i = arange(4);
  expect_error([&] { indices({2, -1}); }, "[indices] expected extents of at least 0");
  expect_error([&] { indices({2}, bool_); }, "[indices] expected a dtype of numbers");
  expect_error([&] { ix_({ones({2, 2})}); }, "[ix_] expected vectors");
  expect_error([&] { jit([](const Array& x) { return ix_({x})[0]; })(v > 1); },
               "[ix_] expected a known bool vector");
  EXPECT_EQ(to_vector<int>(ix_({array({true, false, true}), i})[0]), (std::vector<int>{0, 2}));
  expect_error([&] { diag_indices(-1); }, "[diag_indices] expected n >= 0");
  expect_error(
      [&] {
        diag_indices_from(ones({2, 3}));
      },
      "[diag_indices_from] expected at least 2 dimensions of one extent");
  expect_error([&] { tril_indices(-1); }, "[tril_indices] expected extents of at least 0");
  expect_error([&] { triu_indices(2, 0, -1); }, "[triu_indices] expected extents of at least 0");
  expect_error([&] { tril_indices_from(v); }, "[tril_indices_from] expected a matrix");
  expect_error([&] { triu_indices_from(v); }, "[triu_indices_from] expected a matrix");
  expect_error([&] { mask_indices(-1, triu, 2); }, "[mask_indices] expected extents of at least 0");
  expect_error([&] { unravel_index(v, {4}); }, "[unravel_index] expected integers");
  expect_error([&] { unravel_index(i, {-4}); }, "[unravel_index] expected extents of at least 0");
  expect_error(
      [&] {
        ravel_multi_index({i}, {4, 4});
      },
      "[ravel_multi_index] expected one array for each of 2");
  expect_error([&] { ravel_multi_index({v}, {4}); }, "[ravel_multi_index] expected integers");
  expect_error([&] { ravel_multi_index({i}, {3}); },
               "[ravel_multi_index] expected indices in [0, 3) along dimension 0, got 3");
  expect_error([&] { jit([](const Array& x) { return ravel_multi_index({x}, {9}); })(i); },
               "[ravel_multi_index] expected known indices");
}

}  // namespace
}  // namespace tessera::index_grids_test
