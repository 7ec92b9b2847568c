// Compares functions that insert, delete or append elements with jax.numpy
// (golden/make_calls_numpy.py).
#include "tessera/numpy/edits.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/logic.h"

namespace tessera::edits_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(Edits, AsInJax) {
  test::check_calls("calls_numpy", "edits", {
    TESSERA_CALL("append", append(a[0], a[1])), TESSERA_CALL("append_axis", append(a[0], a[1], 1)),
        TESSERA_CALL("insert", insert(a[0], 2, 7.0)),
        TESSERA_CALL("insert_axis", insert(a[0], 1, a[1], 1)),
        TESSERA_CALL("insert_many", insert(a[0], array({3, 0, 3}), a[1])),
        TESSERA_CALL("insert_one_vector", insert(a[0], array({-2}), a[1])),
        TESSERA_CALL("insert_rows", insert(a[0], array({0, 2}), 5.0, 0)),
        TESSERA_CALL("delete", delete_(a[0], -2)), TESSERA_CALL("delete_axis", delete_(a[0], 1, 0)),
        TESSERA_CALL("delete_slice", delete_(a[0], Slice(None, None, 2), 1)),
        TESSERA_CALL("delete_indices", delete_(a[0], array({1, 1, -1}), 1)),
        TESSERA_CALL("delete_bool", delete_(a[0], array({true, false, true}), 0)),
        TESSERA_CALL("resize", resize(a[0], {4, 3})),
        TESSERA_CALL("resize_less", resize(a[0], {2})),
        TESSERA_CALL("resize_none", resize(a[0], {2, 2})),
        TESSERA_CALL("trim_zeros", trim_zeros(a[0])),
        TESSERA_CALL("trim_zeros_front", trim_zeros(a[0], "f")),
        TESSERA_CALL("trim_zeros_back", trim_zeros(a[0], "b")),
        TESSERA_CALL("trim_zeros_all", trim_zeros(a[0])),
        TESSERA_CALL("fill_diagonal", fill_diagonal(a[0], a[1])),
        TESSERA_CALL("fill_diagonal_vector", fill_diagonal(a[0], a[1])),
        TESSERA_CALL("fill_diagonal_cube", fill_diagonal(a[0], 9)),
        TESSERA_CALL("put", put(a[0], array({0, -2, 20, 4}), a[1])),
        TESSERA_CALL("put_clip", put(a[0], array({0, -2, 20}), a[1], IndexMode::kClip)),
        TESSERA_CALL("put_wrap", put(a[0], array({1, -2, 20}), a[1], IndexMode::kWrap)),
        TESSERA_CALL("put_along_axis", put_along_axis(a[0], a[1], a[2], 1)),
        TESSERA_CALL("put_along_axis_0", put_along_axis(a[0], a[1], 5.0, 0)),
        TESSERA_CALL("put_along_axis_flat", put_along_axis(a[0], a[1], 5.0, None)),
        TESSERA_CALL("place", place(a[0], a[0] > 0, a[1])),
        TESSERA_CALL("choose", choose(a[0], {a[1], a[2], 7.0})),
        TESSERA_CALL("choose_clip", choose(a[0], {a[1], a[2]}, IndexMode::kClip)),
        TESSERA_CALL("choose_wrap", choose(a[0], {a[1], a[2]}, IndexMode::kWrap)),
        TESSERA_CALL("diagflat", diagflat(a[0], 1)),
        TESSERA_CALL_MANY("hsplit", return hsplit(a[0], 2);),
        TESSERA_CALL_MANY("hsplit_vector", return hsplit(a[0], Dims{2});),
        TESSERA_CALL_MANY("vsplit", return vsplit(a[0], Dims{1});),
        TESSERA_CALL_MANY("dsplit", return dsplit(a[0], 2);),
        TESSERA_CALL("rollaxis", rollaxis(a[0], 2)),
        TESSERA_CALL("rollaxis_to", rollaxis(a[0], 0, 3)),
        TESSERA_CALL("block", block({{a[0], a[1]}, {a[1], a[0]}})),
        TESSERA_CALL("block_ranks", block({{a[0]}, {ones(5)}})),
        TESSERA_CALL("block_row", block({a[0], 2.0, a[0]})),
  });
}

TEST(Edits, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), i = arange(4), m = ones({2, 3});
  expect_error([&] { insert(v, v, 1.0); }, "[insert] expected integers as indices");
  expect_error([&] { insert(v, astype(m, int32), 1.0); },
               "[insert] expected one index or a vector");
  expect_error(
      [&] {
        insert(v, array({1, 2}), arange(3));
      },
      "[insert] expected one value or one for each of 2");
  expect_error([&] { delete_(v, Slice(0, 2, 0)); },
               "[delete_] expected a slice with a step other than 0");
  EXPECT_EQ(to_vector<int>(delete_(i, Slice(None, None, -2))), (std::vector<int>{0, 2}));
  expect_error([&] { delete_(v, 4); }, "[delete_] expected an index in [-4, 4)");
  expect_error([&] { delete_(v, array({9})); }, "[delete_] expected indices in [-4, 4)");
  expect_error([&] { delete_(v, v); }, "[delete_] expected integers as indices");
  expect_error([&] { delete_(v, array({true})); },
               "[delete_] expected a bool vector of 4 elements");
  expect_error([&] { jit([&](const Array& o) { return delete_(v, o); })(i); },
               "[delete_] expected a known array");
  expect_error([&] { resize(v, {-1}); }, "[resize] expected extents of at least 0");
  expect_error([&] { trim_zeros(v, "x"); },
               "[trim_zeros] expected \"f\", \"b\" or \"fb\", got \"x\"");
  expect_error([&] { jit([](const Array& x) { return trim_zeros(x); })(v); },
               "[trim_zeros] expected a known array");
  expect_error([&] { fill_diagonal(v, 1); }, "[fill_diagonal] expected a matrix");
  expect_error([&] { fill_diagonal(m, zeros(0)); }, "[fill_diagonal] expected values");
  expect_error([&] { put(v, v, 1); }, "[put] expected integers as indices");
  expect_error([&] { put_along_axis(m, i, 1, 0); },
               "[put_along_axis] expected indices of 2 dimensions");
  expect_error(
      [&] {
        put_along_axis(m, array({{1, 0}}), 1, 0);
      },
      "[put_along_axis] expected indices that broadcast");
  expect_error([&] { put_along_axis(m, m, 1, 0); },
               "[put_along_axis] expected integers as indices");
  expect_error([&] { put_along_axis(v, i, arange(3), 0); }, "[put_along_axis] expected");
  expect_error([&] { place(v, m, 1); }, "[place] expected a mask of the size");
  expect_error([&] { place(v, v, zeros(0)); }, "[place] expected values");
  expect_error([&] { choose(v, {v}); }, "[choose] expected integers as indices");
  expect_error([&] { choose(i, {}); }, "[choose] expected at least one choice");
  expect_error(
      [&] {
        choose(i, {v, v});
      },
      "[choose] expected indices in [0, 2), got 2; choose kClip or kWrap");
  expect_error([&] { jit([&](const Array& x) {
                       return choose(x, {v, v});
                     })(i); },
               "[choose] expected a known array");
  expect_error([&] { hsplit(1.0, 1); }, "[hsplit] expected at least 1 dimensions");
  expect_error([&] { vsplit(v, 1); }, "[vsplit] expected at least 2 dimensions");
  expect_error([&] { dsplit(m, 1); }, "[dsplit] expected at least 3 dimensions");
  expect_error([&] { rollaxis(m, 0, 3); }, "[rollaxis] expected start in [-2, 2], got 3");
  expect_error([&] { block({{v}, v}); }, "[block] expected braces of one depth");
  expect_error([&] { block(std::vector<Array>()); },
               "[block] expected blocks in every pair of braces");
}

}  // namespace
}  // namespace tessera::edits_test
