// Compares functions of images of any number of dimensions with JAX: golden/make_calls_scipy.py.
#include "tessera/scipy/ndimage.h"

#include "../errors.h"
#include "../numpy/calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::scipy_ndimage_test {
namespace {

using namespace scipy::ndimage;
using test::expect_error;
using test::leaves_of;

TEST(Ndimage, AsInJax) {
  test::check_calls(
      "calls_scipy", "ndimage",
      {
          TESSERA_CALL("constant_0", map_coordinates(a[0], {a[1], a[2]}, 0,
                                                     {.mode = Mode::kConstant, .cval = 7.0})),
          TESSERA_CALL("constant_1", map_coordinates(a[0], {a[1], a[2]}, 1,
                                                     {.mode = Mode::kConstant, .cval = 7.0})),
          TESSERA_CALL("nearest_0", map_coordinates(a[0], {a[1], a[2]}, 0,
                                                    {.mode = Mode::kNearest, .cval = 7.0})),
          TESSERA_CALL("nearest_1", map_coordinates(a[0], {a[1], a[2]}, 1,
                                                    {.mode = Mode::kNearest, .cval = 7.0})),
          TESSERA_CALL("wrap_0",
                       map_coordinates(a[0], {a[1], a[2]}, 0, {.mode = Mode::kWrap, .cval = 7.0})),
          TESSERA_CALL("wrap_1",
                       map_coordinates(a[0], {a[1], a[2]}, 1, {.mode = Mode::kWrap, .cval = 7.0})),
          TESSERA_CALL("mirror_0", map_coordinates(a[0], {a[1], a[2]}, 0,
                                                   {.mode = Mode::kMirror, .cval = 7.0})),
          TESSERA_CALL("mirror_1", map_coordinates(a[0], {a[1], a[2]}, 1,
                                                   {.mode = Mode::kMirror, .cval = 7.0})),
          TESSERA_CALL("reflect_0", map_coordinates(a[0], {a[1], a[2]}, 0,
                                                    {.mode = Mode::kReflect, .cval = 7.0})),
          TESSERA_CALL("reflect_1", map_coordinates(a[0], {a[1], a[2]}, 1,
                                                    {.mode = Mode::kReflect, .cval = 7.0})),
          TESSERA_CALL("integers", map_coordinates(a[0], {a[1], a[2]}, 1)),
      });
}

TEST(Ndimage, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3});
  expect_error([&] { map_coordinates(v, {v}, 2); },
               "[map_coordinates] expected order 0 or 1, got 2");
  expect_error([&] { map_coordinates(m, {v}, 1); },
               "[map_coordinates] expected one array of coordinates for each dimension");
  expect_error(
      [&] {
        map_coordinates(m, {v, ones(2)}, 1);
      },
      "[map_coordinates] expected real coordinates of one shape");
  expect_error([&] { map_coordinates(zeros(0), {v}, 1); },
               "[map_coordinates] expected an array with elements");
}

}  // namespace
}  // namespace tessera::scipy_ndimage_test
