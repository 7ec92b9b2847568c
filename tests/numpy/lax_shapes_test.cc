// Compares functions of jax.lax with JAX (golden/make_calls_lax.py).
#include "tessera/numpy/lax_shapes.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::numpy_lax_shapes_test {
namespace {

using namespace lax;
using test::expect_error;
using test::leaves_of;

const IndexDims kElements{.offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
Array places() { return lax::expand_dims(array({1, 4, 1, 9}), {1}); }

TEST(LaxShapes, AsInJax) {
  test::check_calls("calls_lax", "lax_shapes", {
    TESSERA_CALL("broadcast", broadcast(a[0], {2, 1})),
        TESSERA_CALL("broadcast_to_rank", broadcast_to_rank(a[0], 4)),
        TESSERA_CALL("broadcasted_iota", broadcasted_iota(int32, {2, 3}, 1)),
        TESSERA_CALL("collapse", collapse(a[0], 1, 3)),
        TESSERA_CALL("collapse_all", collapse(a[0], -2)),
        TESSERA_CALL("shape_as_value", shape_as_value({3, 0, 5})),
        TESSERA_CALL_MANY("sort_key_val", return leaves_of(sort_key_val(a[0], a[1], 0));),
        TESSERA_CALL("index_take", index_take(a[0], {a[1], a[2]}, {0, 2})),
        TESSERA_CALL("mulhi", mulhi(a[0], a[1])), TESSERA_CALL("reduce_xor", reduce_xor(a[0], {0})),
        TESSERA_CALL_MANY("approx_max_k", return leaves_of(approx_max_k(a[0], 2));),
        TESSERA_CALL_MANY("approx_min_k", return leaves_of(approx_min_k(a[0], 2, 0));),
        TESSERA_CALL("scatter_add", scatter_add(a[0], places(), a[1], kElements)),
        TESSERA_CALL("scatter_sub", scatter_sub(a[0], places(), a[1], kElements)),
        TESSERA_CALL("scatter_mul", scatter_mul(a[0], places(), a[1], kElements)),
        TESSERA_CALL("scatter_min", scatter_min(a[0], places(), a[1], kElements)),
        TESSERA_CALL("scatter_max", scatter_max(a[0], places(), a[1], kElements)),
        TESSERA_CALL("scatter_apply", scatter_apply(a[0], lax::expand_dims(array({1, 4}), {1}),
                                                    [](const Array& x) { return lax::sin(x); },
                                                    kElements, {.update_shape = {2}})),
        TESSERA_CALL("patches", conv_general_dilated_patches(a[0], {2, 3}, {1, 2}, "SAME")),
        TESSERA_CALL("patches_layout",
                     conv_general_dilated_patches(
                         a[0], {2}, {1}, Padding{{1, 0}},
                         {.lhs_layout = "N0C", .rhs_layout = "OI0", .out_layout = "N0C"})),
        TESSERA_CALL("local", conv_general_dilated_local(a[0], a[1], {1, 1},
                                                         Padding{{0, 0}, {0, 0}}, {2, 2})),
        TESSERA_CALL("ragged_dot", ragged_dot(a[0], a[1], array({2, 0, 3}))),
        TESSERA_CALL_MANY("rng_bit_generator_RNG_DEFAULT",
                          return leaves_of(rng_bit_generator(a[0], {3, 5}));),
        TESSERA_CALL_MANY(
            "rng_bit_generator_RNG_THREE_FRY",
            return leaves_of(rng_bit_generator(a[0], {3, 5}, uint32, RandomAlgorithm::kThreeFry));),
        TESSERA_CALL_MANY(
            "rng_bit_generator_RNG_PHILOX",
            return leaves_of(rng_bit_generator(a[0], {3, 5}, uint32, RandomAlgorithm::kPhilox));),
        TESSERA_CALL_MANY("rng_bit_generator_8",
                          return leaves_of(rng_bit_generator(a[0], {7}, uint8));),
        TESSERA_CALL("lu_pivots_to_permutation", lax::linalg::lu_pivots_to_permutation(a[0], 5)),
        TESSERA_CALL("cholesky_update", lax::linalg::cholesky_update(a[0], a[1])),
        TESSERA_CALL("symmetric_product",
                     lax::linalg::symmetric_product(
                         a[0], a[1], {.alpha = 2, .beta = 0.5, .symmetrize_output = true})),
        TESSERA_CALL_MANY("qdwh", return leaves_of(lax::linalg::qdwh(a[0]));),
  });
}

TEST(LaxShapes, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3}), i = arange(4);
  expect_error([&] { broadcast(v, {-1}); }, "[broadcast] expected extents of at least 0");
  expect_error([&] { broadcast_to_rank(m, 1); },
               "[broadcast_to_rank] expected a rank of at least 2");
  expect_error([&] { collapse(m, 2, 1); }, "[collapse] expected 0 <= start <= stop <= 2");
  expect_error([&] { sort_key_val(v, m); }, "[sort_key_val] expected keys and values of one shape");
  expect_error(
      [&] {
        index_take(m, {i}, {0, 1});
      },
      "[index_take] expected one vector of indices for each of 2 axes");
  expect_error([&] { index_take(m, {v}, {0}); }, "[index_take] expected vectors of integers");
  expect_error([&] { mulhi(v, v); }, "[mulhi] expected integers of one dtype and shape");
  expect_error([&] { reduce_xor(v, {0}); }, "[reduce_xor] expected integers or bool");
  expect_error(
      [&] {
        scatter_apply(v, places(), [](const Array& x) { return lax::slice_in_dim(x, 0, 1); },
                      kElements, {.update_shape = {4}});
      },
      "[scatter_apply] expected a function that returns");
  expect_error([&] { conv_general_dilated_patches(v, {2}, {1}, "SAME"); },
               "[conv_general_dilated_patches] expected 3 dimensions");
  expect_error(
      [&] {
        conv_general_dilated_patches(ones({1, 1, 4}), {2}, {1}, "SAME", {.lhs_layout = "NC"});
      },
      "[conv_general_dilated_patches] expected a layout of 3 letters");
  expect_error(
      [&] {
        conv_general_dilated_local(ones({1, 1, 4}), ones({1, 1, 4}), {1}, Padding{{0, 0}}, {2});
      },
      "[conv_general_dilated_local] expected a filter");
  expect_error(
      [&] {
        conv_general_dilated_local(ones({1, 1, 4}), v, {1}, Padding{{0, 0}}, {2},
                                   {.lhs_layout = "NC0"});
      },
      "[conv_general_dilated_local] expected the layouts");
  expect_error([&] { ragged_dot(m, m, i); },
               "[ragged_dot] expected lhs [m, k] and rhs [groups, k, n]");
  expect_error(
      [&] {
        ragged_dot(m, ones({4, 3, 2}), v);
      },
      "[ragged_dot] expected 4 integers as group_sizes");
  expect_error(
      [&] {
        ragged_dot(m, ones({4, 3, 2}, int32), i);
      },
      "[ragged_dot] expected operands of one dtype");
  expect_error([&] { rng_bit_generator(i, {2}); },
               "[rng_bit_generator] expected a key of uint32[4] or uint64[2]");
  expect_error([&] { rng_bit_generator(astype(i, uint32), {2}, int32); },
               "[rng_bit_generator] expected an unsigned dtype");
  expect_error([&] { lax::linalg::lu_pivots_to_permutation(i, 3); },
               "[lu_pivots_to_permutation] expected at most 3 integer pivots");
  expect_error([&] { lax::linalg::cholesky_update(m, v); },
               "[cholesky_update] expected a square matrix");
  expect_error(
      [&] {
        lax::linalg::cholesky_update(ones({4, 4}, int32), i);
      },
      "[cholesky_update] expected float32 or float64");
  expect_error([&] { lax::linalg::symmetric_product(m, m); },
               "[symmetric_product] expected a [..., n, k] and c");
  expect_error([&] { lax::linalg::qdwh(m); },
               "[qdwh] expected a matrix with at least as many rows");
  EXPECT_EQ(to_vector<int>(polynomial(i, {1, 0, 2})), (std::vector<int>{1, 3, 9, 19}));
  EXPECT_EQ(to_vector<int>(one_minus_square(i)), (std::vector<int>{1, 0, -3, -8}));
  EXPECT_EQ(broadcast_like(v, ones({3, 4})).shape(), (Shape{3, 4}));
}

}  // namespace
}  // namespace tessera::numpy_lax_shapes_test
