// Compares functions of functions with jax.numpy (golden/make_calls_numpy.py).
#include "tessera/numpy/mapped_functions.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/sorting.h"

namespace tessera::mapped_functions_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(MappedFunctions, AsInJax) {
  test::check_calls("calls_numpy", "mapped_functions", {
    TESSERA_CALL("apply_along_axis",
                 apply_along_axis([](const Array& v) { return sort(v); }, 1, a[0])),
        TESSERA_CALL("apply_along_axis_sum",
                     apply_along_axis([](const Array& v) { return sum(v); }, 0, a[0])),
        TESSERA_CALL("apply_along_axis_outer",
                     apply_along_axis([](const Array& v) { return outer(v, v); }, 1, a[0])),
        TESSERA_CALL(
            "apply_over_axes",
            apply_over_axes([](const Array& x, int64_t axis) { return sum(x, {.axis = axis}); },
                            a[0], {0, -1})),
        TESSERA_CALL("vectorize", vectorize([](const Array& x, const Array& y) {
                       return where(x > y, x * y, x + y);
                     })(a[0], a[1])),
        TESSERA_CALL("vectorize_signature",
                     vectorize([](const Array& x, const Array& y) { return dot(x, y); },
                               "(n,m),(m)->(n)")(a[0], a[1])),
        TESSERA_CALL_MANY(
            "vectorize_two",
            const auto f = vectorize([](const Array& v) { return std::pair(sum(v), v * 2); },
                                     "(n) -> (), (n)");
            return leaves_of(f(a[0]));),
        TESSERA_CALL("piecewise", piecewise(a[0], {a[0] < 0, a[0] >= 1},
                                            {[](const Array& v) { return -v; },
                                             [](const Array& v) { return v * v; }, 7.0})),
        TESSERA_CALL("piecewise_last", piecewise(a[0], {a[0] > 0, a[0] > 1},
                                                 {1.0, [](const Array& v) { return v + 2; }})),
        TESSERA_CALL(
            "fromfunction",
            fromfunction([](const Array& i, const Array& j) { return i * 10 + j; }, {2, 3})),
        TESSERA_CALL("fromfunction_int",
                     fromfunction([](const Array& i, const Array& j) { return i * 10 + j; }, {2, 3},
                                  default_int())),
  });
}

TEST(MappedFunctions, ErrorsSayWhatIsExpected) {
  const Array v = arange(4.0f), m = ones({2, 3});
  const auto product = [](const Array& x, const Array& y) { return dot(x, y); };
  expect_error([&] { vectorize(product, "(n),(n)->")(v, v); },
               "[vectorize] expected a signature like");
  expect_error([&] { vectorize(product, "(n),(n)")(v, v); },
               "[vectorize] expected a signature like");
  expect_error([&] { vectorize(product, "(n)->()")(v, v); }, "[vectorize] expected 1 arguments");
  expect_error([&] { vectorize(product, "(n),(n)->()")(v, 1.0); },
               "[vectorize] expected at least 1 dimensions of argument 1");
  expect_error([&] { vectorize(product, "(n),(n)->()")(v, m); },
               "[vectorize] expected one extent of dimension n, got 4 and 3");
  expect_error([&] { piecewise(v, {v > 1}, {}); },
               "[piecewise] expected 1 or 2 pieces for 1 conditions, got 0");
  expect_error([&] { piecewise(v, {m > 1}, {1}); }, "[piecewise]");
  expect_error([&] { apply_over_axes([](const Array& x, int64_t) { return sum(x); }, m, {0}); },
               "[apply_over_axes] expected a function that keeps or removes");
}

}  // namespace
}  // namespace tessera::mapped_functions_test
