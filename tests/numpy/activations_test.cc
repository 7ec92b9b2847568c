// Compares activations with JAX (golden/make_calls_lax.py).
#include "tessera/numpy/activations.h"

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::numpy_activations_test {
namespace {

using test::expect_error;
using test::leaves_of;

TEST(Activations, AsInJax) {
  test::check_calls(
      "calls_lax", "activations",
      {
          TESSERA_CALL("hard_swish", hard_swish(a[0])),
          TESSERA_CALL("squareplus", squareplus(a[0])),
          TESSERA_CALL("squareplus_b", squareplus(a[0], 1.0)),
          TESSERA_CALL("sparse_plus", sparse_plus(a[0])),
          TESSERA_CALL("sparse_sigmoid", sparse_sigmoid(a[0])),
          TESSERA_CALL("log1mexp", log1mexp(a[0])),
          TESSERA_CALL("logmeanexp", logmeanexp(a[0])),
          TESSERA_CALL("logmeanexp_axis", logmeanexp(a[0], {.axis = 1, .keepdims = true})),
          TESSERA_CALL("logmeanexp_where", logmeanexp(a[0], {.axis = 0, .where = a[0] > -1.5})),
      });
}

TEST(Activations, ErrorsSayWhatIsExpected) {
  expect_error([&] { log1mexp(astype(arange(3), complex64)); }, "[log1mexp] expected real numbers");
}

// At 0 both terms are equal, and which one is larger changes.
TEST(Activations, SoftplusHasItsSecondDerivativeAtZero) {
  const auto f = [](const Array& x) { return softplus(x); };
  const auto second = [&](float x) { return to_vector<float>(grad(grad(f))(Array(x)))[0]; };
  EXPECT_FLOAT_EQ(to_vector<float>(grad(f)(Array(0.F)))[0], 0.5F);
  EXPECT_FLOAT_EQ(second(0), 0.25F);
  EXPECT_FLOAT_EQ(second(1), 0.19661193F);
  EXPECT_FLOAT_EQ(second(100), 0);
  const auto g = [](const Array& x) { return logaddexp2(x, Array(1.F)); };
  EXPECT_FLOAT_EQ(to_vector<float>(grad(grad(g))(Array(1.F)))[0], 0.25F * std::log(2.F));
}

}  // namespace
}  // namespace tessera::numpy_activations_test
