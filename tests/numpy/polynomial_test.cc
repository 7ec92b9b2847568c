// Compares polynomials with jax.numpy (golden/make_calls_numpy.py).
#include "tessera/numpy/polynomial.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/sorting.h"

namespace tessera::polynomial_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(Polynomial, AsInJax) {
  test::check_calls("calls_numpy", "polynomial", {
    TESSERA_CALL("polyval", polyval(a[0], a[1])),
        TESSERA_CALL("polyval_columns", polyval(a[0], a[1])),
        TESSERA_CALL("polyval_int", polyval(a[0], a[1])),
        TESSERA_CALL("polyval_none", polyval(a[0], a[1])),
        TESSERA_CALL("polyadd", polyadd(a[0], a[1])),
        TESSERA_CALL("polyadd_swapped", polyadd(a[0], a[1])),
        TESSERA_CALL("polysub", polysub(a[0], a[1])), TESSERA_CALL("polymul", polymul(a[0], a[1])),
        TESSERA_CALL("polymul_int", polymul(a[0], a[1])),
        TESSERA_CALL_MANY("polydiv", return leaves_of(polydiv(a[0], a[1]));),
        TESSERA_CALL_MANY("polydiv_shorter", return leaves_of(polydiv(a[0], a[1]));),
        TESSERA_CALL("polyder", polyder(a[0])), TESSERA_CALL("polyder_2", polyder(a[0], 2)),
        TESSERA_CALL("polyder_0", polyder(a[0], 0)), TESSERA_CALL("polyint", polyint(a[0])),
        TESSERA_CALL("polyint_2", polyint(a[0], 2, a[1])),
        TESSERA_CALL("polyint_3", polyint(a[0], 3, Array(1.5))), TESSERA_CALL("poly", poly(a[0])),
        TESSERA_CALL("poly_complex", poly(a[0])), TESSERA_CALL("poly_matrix", poly(a[0])),
        TESSERA_CALL("poly_none", poly(a[0])), TESSERA_CALL("roots", sort(roots(a[0]))),
        TESSERA_CALL("roots_kept", sort(roots(a[0], {.strip_zeros = false}))),
        TESSERA_CALL("roots_constant", roots(a[0])), TESSERA_CALL("roots_int", sort(roots(a[0]))),
        TESSERA_CALL("polyfit", polyfit(a[0], a[1], 2)),
        TESSERA_CALL("polyfit_columns", polyfit(a[0], a[1], 1)),
        TESSERA_CALL("polyfit_weights", polyfit(a[0], a[1], 2, {.w = a[2]})),
        TESSERA_CALL_MANY("polyfit_full", const PolyfitFull f = polyfit_full(a[0], a[1], 2);
                          return {f.coefficients, f.residuals, f.rank, f.singular_values};),
        TESSERA_CALL_MANY("polyfit_cov", return leaves_of(polyfit_cov(a[0], a[1], 2));),
        TESSERA_CALL_MANY("polyfit_cov_columns",
                          return leaves_of(polyfit_cov(a[0], a[1], 2, PolyfitCov::kUnscaled));),
        TESSERA_CALL("vander", vander(a[0])), TESSERA_CALL("vander_3", vander(a[0], 3, true)),
        TESSERA_CALL("vander_int", vander(a[0])), TESSERA_CALL("vander_complex", vander(a[0], 3)),
  });
}

TEST(Polynomial, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3});
  expect_error([&] { polyval(1.0, v); }, "[polyval] expected a vector of coefficients");
  expect_error([&] { polyadd(m, v); }, "[polyadd] expected a vector of coefficients");
  expect_error([&] { polysub(v, m); }, "[polysub] expected a vector of coefficients");
  expect_error([&] { polymul(v, m); }, "[polymul] expected a vector of coefficients");
  expect_error([&] { polydiv(v, zeros(0)); }, "[polydiv] expected a divisor with coefficients");
  expect_error([&] { polyder(v, -1); }, "[polyder] expected m >= 0, got -1; polyint integrates");
  expect_error([&] { polyint(v, -1); }, "[polyint] expected m >= 0, got -1; polyder derives");
  expect_error([&] { polyint(v, 2, arange(3)); },
               "[polyint] expected one constant, or a vector of 2");
  expect_error([&] { poly(m); }, "[poly] expected a vector or a square matrix");
  expect_error([&] { roots(m); }, "[roots] expected a vector of coefficients");
  expect_error([&] { jit([](const Array& p) { return roots(p); })(v); },
               "[roots] expected known coefficients");
  expect_error([&] { polyfit(v, v, -1); }, "[polyfit] expected a degree >= 0");
  expect_error([&] { polyfit(m, v, 1); }, "[polyfit] expected a vector x with elements");
  expect_error([&] { polyfit(v, arange(3), 1); },
               "[polyfit] expected a vector or a matrix y of 4 rows");
  expect_error([&] { polyfit(v, v, 1, {.w = m}); }, "[polyfit] expected one weight a point");
  expect_error([&] { polyfit_cov(v, v, 3); }, "[polyfit_cov] expected more than 4 points");
  expect_error([&] { vander(m); }, "[vander] expected a vector");
  expect_error([&] { vander(v, -2); }, "[vander] expected N >= 0, got -2");
}

}  // namespace
}  // namespace tessera::polynomial_test
