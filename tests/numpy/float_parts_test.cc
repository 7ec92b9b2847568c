// Compares mantissas, exponents, divisors and packed bits with jax.numpy
// (golden/make_calls_numpy.py).
#include "tessera/numpy/float_parts.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/logic.h"

namespace tessera::float_parts_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(FloatParts, AsInJax) {
  test::check_calls("calls_numpy", "float_parts", {
    TESSERA_CALL_MANY("frexp", return leaves_of(frexp(a[0]));),
        TESSERA_CALL_MANY("frexp_int", return leaves_of(frexp(a[0]));),
        TESSERA_CALL("ldexp", ldexp(a[0], array({3, -4, 0, 100, -100, 2}))),
        TESSERA_CALL("ldexp_shapes", ldexp(a[0], a[1])),
        TESSERA_CALL("ldexp_edges", ldexp(a[0], array({3, 5000, -3, 2}))),
        TESSERA_CALL_MANY("modf", return leaves_of(modf(a[0]));),
        TESSERA_CALL_MANY("modf_int", return leaves_of(modf(a[0]));),
        TESSERA_CALL("spacing", spacing(a[0])), TESSERA_CALL("gcd", gcd(a[0], a[1])),
        TESSERA_CALL("gcd_shapes", gcd(a[0], a[1])), TESSERA_CALL("gcd_uint8", gcd(a[0], a[1])),
        TESSERA_CALL("lcm", lcm(a[0], a[1])), TESSERA_CALL("packbits", packbits(a[0])),
        TESSERA_CALL("packbits_axis", packbits(a[0], {.axis = 1, .bitorder = BitOrder::kLittle})),
        TESSERA_CALL("packbits_rows", packbits(a[0], {.axis = 0})),
        TESSERA_CALL("unpackbits", unpackbits(a[0])),
        TESSERA_CALL("unpackbits_axis",
                     unpackbits(a[0], {.axis = 0, .bitorder = BitOrder::kLittle})),
        TESSERA_CALL("unpackbits_count", unpackbits(a[0], {.axis = 1, .count = 11})),
        TESSERA_CALL("unpackbits_more", unpackbits(a[0], {.axis = 1, .count = 30})),
  });
}

TEST(FloatParts, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), z = astype(v, complex64), i = arange(4);
  expect_error([&] { frexp(z); }, "[frexp] expected real numbers");
  expect_error([&] { ldexp(z, i); }, "[ldexp] expected real numbers");
  expect_error([&] { ldexp(v, v); }, "[ldexp] expected integers");
  expect_error([&] { ldexp(v, arange(3)); }, "[ldexp] expected shapes that broadcast");
  expect_error([&] { modf(z); }, "[modf] expected real numbers");
  expect_error([&] { spacing(z); }, "[spacing] expected real numbers");
  expect_error([&] { gcd(i, v); }, "[gcd] expected integers");
  expect_error([&] { lcm(v, i); }, "[lcm] expected integers");
  expect_error([&] { lcm(i, arange(3)); }, "[lcm] expected shapes that broadcast");
  expect_error([&] { packbits(v); }, "[packbits] expected integers or bool");
  expect_error([&] { unpackbits(i); }, "[unpackbits] expected uint8");
  expect_error([&] { unpackbits(astype(i, uint8), {.count = -1}); },
               "[unpackbits] expected a count >= 0");
}

}  // namespace
}  // namespace tessera::float_parts_test
