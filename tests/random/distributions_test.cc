// Compares distributions with JAX: golden/make_calls_lax.py.
#include "tessera/random/distributions.h"

#include "../errors.h"
#include "../numpy/calls.h"
#include "tessera/compile/jit.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"

namespace tessera::random_distributions_test {
namespace {

using namespace random;
using test::expect_error;
using test::leaves_of;

Key key_of(const test::Arrays& a) { return random::wrap_key_data(a[0]); }

TEST(Distributions, AsInJax) {
  test::check_calls(
      "calls_lax", "distributions",
      {
          TESSERA_CALL("ball", ball(key_of(a), 3, 2, {4})),
          TESSERA_CALL("ball_1", ball(key_of(a), 2, 1, {3})),
          TESSERA_CALL("chisquare", chisquare(key_of(a), a[1])),
          TESSERA_CALL("f", f(key_of(a), a[1], 3.0)),
          TESSERA_CALL("t", t(key_of(a), a[1])),
          TESSERA_CALL("maxwell", maxwell(key_of(a), {5})),
          TESSERA_CALL("double_sided_maxwell", double_sided_maxwell(key_of(a), 1.0, a[1], {2})),
          TESSERA_CALL("generalized_normal", generalized_normal(key_of(a), 1.5, {5})),
          TESSERA_CALL("geometric", geometric(key_of(a), a[1], Shape{3, 4})),
          TESSERA_CALL("lognormal", lognormal(key_of(a), a[1])),
          TESSERA_CALL("pareto", pareto(key_of(a), a[1])),
          TESSERA_CALL("rayleigh", rayleigh(key_of(a), a[1], Shape{3, 4})),
          TESSERA_CALL("triangular", triangular(key_of(a), -1.0, a[1], 8.0, Shape{3, 4})),
          TESSERA_CALL("wald", wald(key_of(a), a[1])),
          TESSERA_CALL("weibull_min", weibull_min(key_of(a), 2.0, a[1], {3, 4})),
          TESSERA_CALL("binomial", binomial(key_of(a), 20.0, a[1], Shape{3, 4})),
          TESSERA_CALL("binomial_many", binomial(key_of(a), a[1], 0.3, Shape{3, 4})),
          TESSERA_CALL("binomial_bad", binomial(key_of(a), 5.0, a[1])),
          TESSERA_CALL("multinomial", multinomial(key_of(a), 50.0, a[1])),
      });
}

TEST(Distributions, ErrorsSayWhatIsExpected) {
  const Key k = random::key(1);
  const Array v = ones(4), z = astype(v, complex64);
  expect_error([&] { ball(k, 0); }, "[random::ball] expected d >= 1, got 0");
  expect_error([&] { ball(k, 2, 0); }, "[random::ball] expected p > 0");
  expect_error([&] { ball(k, 2, 2, {}, int32); }, "[random::ball]");
  expect_error([&] { chisquare(k, z); }, "[random::chisquare] expected real parameters");
  expect_error([&] { chisquare(k, v, Shape{3}); }, "[random::chisquare]");
  expect_error([&] { random::f(k, v, z); }, "[random::f] expected real parameters");
  expect_error([&] { random::t(k, z); }, "[random::t] expected real parameters");
  expect_error([&] { maxwell(k, {-1}); }, "[random::maxwell]");
  expect_error([&] { double_sided_maxwell(k, v, ones(3)); }, "[random::double_sided_maxwell]");
  expect_error([&] { generalized_normal(k, -1); },
               "[random::generalized_normal] expected p > 0, got -1");
  expect_error([&] { geometric(k, 0.5, {}, float32); },
               "[random::geometric] expected an integer dtype");
  expect_error([&] { geometric(k, z); }, "[random::geometric] expected a real probability");
  expect_error([&] { lognormal(k, v, Shape{3}); }, "[random::lognormal]");
  expect_error([&] { pareto(k, z); }, "[random::pareto] expected real parameters");
  expect_error([&] { rayleigh(k, z); }, "[random::rayleigh] expected real parameters");
  expect_error([&] { triangular(k, z, v, v); }, "[random::triangular] expected real parameters");
  expect_error([&] { wald(k, z); }, "[random::wald] expected real parameters");
  expect_error([&] { weibull_min(k, z, v); }, "[random::weibull_min] expected real parameters");
  expect_error([&] { weibull_min(k, v, ones(3)); }, "[random::weibull_min]");
  expect_error([&] { binomial(k, z, v); }, "[random::binomial] expected real parameters");
  expect_error([&] { multinomial(k, 3.0, 0.5); },
               "[random::multinomial] expected probabilities along a last dimension");
  expect_error([&] { multinomial(k, 3.0, v, Shape{2, 3}); }, "[random::multinomial]");
}

}  // namespace
}  // namespace tessera::random_distributions_test
