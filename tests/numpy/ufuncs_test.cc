// Other names and small functions, compared with jax.numpy: golden/make_calls_numpy.py.
#include "tessera/numpy/ufuncs.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/logic.h"

namespace tessera::ufuncs_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(Ufuncs, AsInJax) {
  test::check_calls(
      "calls_numpy", "ufuncs",
      {
          TESSERA_CALL("names", around(a[0], 1), conjugate(a[0]), degrees(a[0]), radians(a[0]),
                       concat({a[0], a[0]}), copy(a[0])),
          TESSERA_CALL("bit_names", bitwise_invert(a[0]), bitwise_left_shift(a[0], 2),
                       bitwise_right_shift(a[0], 1)),
          TESSERA_CALL("iscomplex", iscomplex(a[0])),
          TESSERA_CALL("isreal", isreal(a[0])),
          TESSERA_CALL("isreal_float", isreal(a[0]), iscomplex(a[0])),
          TESSERA_CALL("array_equiv", array_equiv(a[0], stack({a[0], a[0]}))),
          TESSERA_CALL("cumulative_sum", cumulative_sum(a[0])),
          TESSERA_CALL("cumulative_sum_initial",
                       cumulative_sum(a[0], {.axis = 1, .include_initial = true})),
          TESSERA_CALL("cumulative_prod_initial",
                       cumulative_prod(a[0], {.axis = 0, .include_initial = true})),
          TESSERA_CALL("geomspace", geomspace(a[0], a[1], 7)),
          TESSERA_CALL("geomspace_axis", geomspace(a[0], a[1], 4, {.endpoint = false, .axis = 1})),
          TESSERA_CALL("geomspace_int", geomspace(1, 1000, 4)),
          TESSERA_CALL("matvec", matvec(a[0], a[1])),
          TESSERA_CALL("vecmat", vecmat(a[0], a[1])),
          TESSERA_CALL("cross", cross(a[0], a[1])),
          TESSERA_CALL("cross_axes", cross(a[0], a[1], {.axisa = 0, .axisb = 1, .axisc = 0})),
          TESSERA_CALL("bartlett", bartlett(7), bartlett(8), bartlett(1), bartlett(0)),
          TESSERA_CALL("blackman", blackman(7), blackman(8), blackman(1), blackman(0)),
          TESSERA_CALL("hamming", hamming(7), hamming(8), hamming(1), hamming(0)),
          TESSERA_CALL("hanning", hanning(7), hanning(8), hanning(1), hanning(0)),
      });
}

TEST(Ufuncs, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3});
  expect_error([&] { cumulative_sum(1.0); }, "[cumulative_sum] expected at least 1 dimension");
  expect_error([&] { cumulative_prod(m); }, "[cumulative_prod] expected an axis");
  expect_error([&] { geomspace(1, 2, -1); }, "[geomspace] expected num >= 0");
  expect_error([&] { matvec(m, v); },
               "[matvec] expected matrices [..., m, n] and vectors [..., n]");
  expect_error([&] { vecmat(v, m); }, "[vecmat] expected vectors [..., m] and matrices");
  expect_error([&] { cross(v, v); }, "[cross] expected vectors of three elements");
  expect_error([&] { hanning(-1); }, "[hanning] expected at least 0 points, got -1");
  EXPECT_EQ(minmax(v).first.item<float>(), 0);
  EXPECT_EQ(minmax(v).second.item<float>(), 3);
  EXPECT_FALSE(static_cast<bool>(array_equiv(v, m)));
  EXPECT_FALSE(static_cast<bool>(array_equiv(v, v + 1)));
  EXPECT_EQ(ndim(m), 2);
  EXPECT_EQ(shape(m), (Shape{2, 3}));
  EXPECT_EQ(size(m), 6);
  EXPECT_EQ(size(m, 1), 3);
  EXPECT_TRUE(isscalar(1.0) && !isscalar(v));
  EXPECT_TRUE(isrealobj(v) && !iscomplexobj(v));
}

}  // namespace
}  // namespace tessera::ufuncs_test
