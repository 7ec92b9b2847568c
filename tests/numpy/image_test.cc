// Compares functions of images with JAX (golden/make_calls_lax.py).
#include "tessera/numpy/image.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::numpy_image_test {
namespace {

using namespace image;
using test::expect_error;
using test::leaves_of;

TEST(Image, AsInJax) {
  test::check_calls(
      "calls_lax", "image",
      {
          TESSERA_CALL("resize_nearest", resize(a[0], {1, 2, 9, 3}, ResizeMethod::kNearest)),
          TESSERA_CALL("resize_linear", resize(a[0], {1, 2, 9, 3}, ResizeMethod::kLinear)),
          TESSERA_CALL("resize_cubic", resize(a[0], {1, 2, 9, 3}, ResizeMethod::kCubic)),
          TESSERA_CALL("resize_lanczos3", resize(a[0], {1, 2, 9, 3}, ResizeMethod::kLanczos3)),
          TESSERA_CALL("resize_lanczos5", resize(a[0], {1, 2, 9, 3}, ResizeMethod::kLanczos5)),
          TESSERA_CALL("resize_sharp",
                       resize(a[0], {1, 2, 3, 3}, ResizeMethod::kLinear, {.antialias = false})),
          TESSERA_CALL("resize_same", resize(a[0], {3, 5}, ResizeMethod::kCubic)),
          TESSERA_CALL("scale_and_translate", scale_and_translate(a[0], {1, 2, 7, 4}, {2, 3}, a[1],
                                                                  a[2], ResizeMethod::kCubic)),
      });
}

TEST(Image, ErrorsSayWhatIsExpected) {
  const Array m = ones({2, 3}), two = ones(2);
  expect_error([&] { resize(m, {3}, ResizeMethod::kLinear); },
               "[image::resize] expected a shape of 2 extents");
  expect_error(
      [&] {
        resize(m, {3, -1}, ResizeMethod::kLinear);
      },
      "[image::resize] expected extents of at least 0");
  expect_error(
      [&] {
        scale_and_translate(m, {3, 3}, {0, 1}, two, two, ResizeMethod::kNearest);
      },
      "[image::scale_and_translate] expected a method other than kNearest");
  expect_error(
      [&] {
        scale_and_translate(m, {3, 3}, {0, 1}, ones(3), two, ResizeMethod::kLinear);
      },
      "[image::scale_and_translate] expected one scale and translation for each of 2");
  expect_error(
      [&] {
        scale_and_translate(m, {3, 4}, {0}, ones(1), ones(1), ResizeMethod::kLinear);
      },
      "[image::scale_and_translate] expected the extent 3 of dimension 1");
}

}  // namespace
}  // namespace tessera::numpy_image_test
