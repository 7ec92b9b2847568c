// Compares differences of neighbours, integrals and interpolation with jax.numpy
// (golden/make_calls_numpy.py).
#include "tessera/numpy/differences.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/logic.h"

namespace tessera::differences_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(Differences, AsInJax) {
  test::check_calls("calls_numpy", "differences", {
    TESSERA_CALL("diff", diff(a[0])), TESSERA_CALL("diff_2", diff(a[0], {.n = 2, .axis = 0})),
        TESSERA_CALL("diff_ends",
                     diff(a[0], {.prepend = 0.0, .append = slice_in_dim(a[0], 0, 2, 1)})),
        TESSERA_CALL("diff_bool", diff(a[0])), TESSERA_CALL("diff_int", diff(a[0])),
        TESSERA_CALL("diff_0", diff(a[0], {.n = 0})),
        TESSERA_CALL("diff_all", diff(a[0], {.n = 9})), TESSERA_CALL("ediff1d", ediff1d(a[0])),
        TESSERA_CALL("ediff1d_ends", ediff1d(a[0], {.to_end = a[1], .to_begin = 7.0})),
        TESSERA_CALL_MANY("gradient", return gradient(a[0]);),
        TESSERA_CALL_MANY("gradient_axis", return gradient(a[0], {.spacing = {0.5}, .axis = 1});),
        TESSERA_CALL_MANY("gradient_two",
                          return gradient(a[0], {.spacing = {0.5, 2.0}, .axis = {0, -1}});),
        TESSERA_CALL_MANY("gradient_points", return gradient(a[0], {.spacing = {a[1]}});),
        TESSERA_CALL_MANY("gradient_int", return gradient(a[0]);),
        TESSERA_CALL("trapezoid", trapezoid(a[0])),
        TESSERA_CALL("trapezoid_x", trapezoid(a[0], {.x = a[1], .axis = 1})),
        TESSERA_CALL("trapezoid_dx", trapezoid(a[0], {.dx = 0.25, .axis = 0})),
        TESSERA_CALL("trapezoid_int", trapezoid(a[0])),
        TESSERA_CALL("trapezoid_xs", trapezoid(a[0], {.x = a[1]})),
        TESSERA_CALL("unwrap", unwrap(a[0])),
        TESSERA_CALL("unwrap_period", unwrap(a[0], {.axis = 0, .period = 1.5})),
        TESSERA_CALL("unwrap_discont", unwrap(a[0], {.discont = 4.0})),
        TESSERA_CALL("unwrap_int", unwrap(a[0], {.period = 6})),
        TESSERA_CALL("interp", interp(a[0], a[1], a[2])),
        TESSERA_CALL("interp_ends",
                     interp(a[0], a[1], a[2], {.left = Array(-9.0), .right = Array(9.0)})),
        TESSERA_CALL("interp_extrapolate",
                     interp(a[0], a[1], a[2], {.left = kExtrapolate, .right = kExtrapolate})),
        TESSERA_CALL("interp_period", interp(a[0], a[1], a[2], {.period = 2.5})),
        TESSERA_CALL("interp_complex", interp(a[0], a[1], a[2])),
        TESSERA_CALL("interp_equal", interp(a[0], a[1], a[2])),
        TESSERA_CALL("interp_int", interp(a[0], a[1], a[2])),
  });
}

TEST(Differences, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3});
  expect_error([&] { diff(1.0); }, "[diff] expected at least 1 dimension");
  expect_error([&] { diff(v, {.n = -1}); }, "[diff] expected n >= 0, got -1");
  expect_error(
      [&] {
        gradient(m, {.spacing = {1.0, 1.0, 1.0}});
      },
      "[gradient] expected no spacing");
  expect_error(
      [&] {
        gradient(ones({3, 1}));
      },
      "[gradient] expected at least 2 elements along axis 1");
  expect_error([&] { gradient(v, {.spacing = {arange(3)}}); },
               "[gradient] expected a number or a vector of 4");
  expect_error([&] { trapezoid(v, {.x = arange(3)}); }, "[trapezoid] expected one x for each");
  expect_error([&] { trapezoid(v, {.x = Array(1.0)}); }, "[trapezoid] expected x with at least 1");
  expect_error([&] { unwrap(astype(v, complex64)); }, "[unwrap] expected real numbers");
  expect_error([&] { interp(v, v, arange(3)); }, "[interp] expected vectors xp and fp of one size");
  expect_error([&] { interp(astype(v, complex64), v, v); }, "[interp] expected real x and xp");
  expect_error([&] { interp(v, v, v, {.period = v}); }, "[interp] expected a scalar as the period");
}

}  // namespace
}  // namespace tessera::differences_test
