// Compares interpolation on grids with JAX: golden/make_calls_scipy.py.
#include "tessera/scipy/interpolate.h"

#include "../errors.h"
#include "../numpy/calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::scipy_interpolate_test {
namespace {

using namespace scipy::interpolate;
using test::expect_error;
using test::leaves_of;

Array grid_x() { return astype(array({0.0, 0.5, 2.0}), default_float()); }
Array grid_y() { return astype(array({-1.0, 0.0, 1.0, 4.0}), default_float()); }

TEST(Interpolate, AsInJax) {
  test::check_calls(
      "calls_scipy", "interpolate",
      {
          TESSERA_CALL("linear", RegularGridInterpolator({grid_x(), grid_y()}, a[0])(a[1])),
          TESSERA_CALL("nearest", RegularGridInterpolator({grid_x(), grid_y()}, a[0],
                                                          {.method = GridMethod::kNearest})(a[1])),
          TESSERA_CALL("outside", RegularGridInterpolator({grid_x(), grid_y()}, a[0])(a[1])),
          TESSERA_CALL("fill", RegularGridInterpolator({grid_x(), grid_y()}, a[0],
                                                       {.fill_value = Array(5.0)})(a[1])),
          TESSERA_CALL("extrapolated", RegularGridInterpolator({grid_x(), grid_y()}, a[0],
                                                               {.fill_value = std::nullopt})(a[1])),
          TESSERA_CALL("further", RegularGridInterpolator({grid_x(), grid_y()}, a[0])(a[1])),
      });
}

TEST(Interpolate, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3});
  expect_error([&] { RegularGridInterpolator({v}, m); },
               "[RegularGridInterpolator] expected at least 2 points along dimension 0");
  expect_error(
      [&] {
        RegularGridInterpolator({v, v, v}, m);
      },
      "[RegularGridInterpolator] expected at most 2 vectors");
  expect_error(
      [&] {
        RegularGridInterpolator({array({1.0, 0.0})}, m);
      },
      "[RegularGridInterpolator] expected ascending points");
  const RegularGridInterpolator f({v}, v, {.bounds_error = true});
  expect_error(
      [&] {
        f(ones({3, 2}));
      },
      "[RegularGridInterpolator] expected points of 1 coordinates");
  expect_error([&] { f(array({{9.0}})); },
               "[RegularGridInterpolator] expected points in [0, 3] along dimension 0, got 9");
  expect_error(
      [&] {
        jit([&](const Array& x) { return f(x); })(ones({1, 1}));
      },
      "[RegularGridInterpolator] expected known points");
}

}  // namespace
}  // namespace tessera::scipy_interpolate_test
