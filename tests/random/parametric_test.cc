// Samplers with parameters: their derivatives, mapping, sharding and errors.
#include <gmock/gmock.h>

#include <algorithm>

#include "../errors.h"
#include "calls.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/vmap.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/sorting.h"

namespace tessera::parametric_test {
namespace {

using golden::Json;
using tessera::test::Call;
using tessera::test::expect_close;
using tessera::test::expect_error;
using tessera::test::expect_within;
using tessera::test::key_of;
using tessera::test::X64;

TEST(RandomDerivatives, AreJaxs) {
  const golden::Topic topic("samplers");
  for (const Json& c : topic["gradients"]) {
    SCOPED_TRACE(c.dump());
    const X64 x64(c["x64"].get<bool>());
    const std::string function = c["function"];
    const random::Key key = key_of(c["key"]);
    const Literal expected = topic.array(c["out"]);
    std::vector<Array> inputs;
    std::vector<std::string> names;
    for (const auto& [name, reference] : c["inputs"].items()) {
      names.push_back(name);
      inputs.push_back(Array(topic.array(reference)));
    }
    const auto loss = [&](const std::vector<Array>& a) -> Array {
      std::map<std::string, Array> by_name;
      for (size_t i = 0; i < names.size(); ++i) by_name[names[i]] = a[i];
      const Array x = test::sample(function, key,
                                   Call{c["params"], by_name, expected.shape(), expected.dtype()});
      return sum(x * reshape(arange(1, x.size() + 1, 1, x.dtype()), x.shape()));
    };
    const std::vector<Array> gradients = grad(loss)(inputs);
    for (size_t i = 0; i < names.size(); ++i) {
      const Literal wanted = topic.array(c["gradients"][names[i]]);
      // In float32 JAX's own sums are not more accurate.
      const double tolerance = wanted.dtype() == float64 ? 1e-9 : 2e-3;
      expect_close(gradients[i].to_host(), wanted, tolerance, tolerance);
    }
  }
}

TEST(RandomDerivatives, OfGammaInBothModesAndOnceMore) {
  const random::Key key = random::key(5);
  const Array a = array({0.3, 1.5, 7.});
  const auto f = [&](const Array& x) { return random::gamma(key, x); };
  const Array forward = jvp(f, std::tuple(a), std::tuple(ones_like(a))).second;
  const Array reverse = grad([&](const Array& x) { return sum(f(x)); })(a);
  expect_close(forward.to_host(), reverse.to_host(), 1e-6, 1e-6);
  // The step is larger than the noise of float32 and smaller than the curvature.
  const X64 x64(true);
  const Array wide = array({0.3, 1.5, 7.});
  const auto slope = [&](const Array& x) {
    return jvp(f, std::tuple(x), std::tuple(ones_like(x))).second;
  };
  const double h = 1e-5;
  const Array differences = (slope(wide + h) - slope(wide - h)) / (2 * h);
  expect_close(jvp(slope, std::tuple(wide), std::tuple(ones_like(wide))).second.to_host(),
               differences.to_host(), 1e-3, 1e-4);
  // Reverse mode through the sums of the derivative is not supported.
  EXPECT_THROW(grad([&](const Array& x) {
                 return sum(grad([&](const Array& y) { return sum(f(y)); })(x));
               })(wide),
               UserError);
}

TEST(RandomParametric, MapsOverParametersAndKeys) {
  const random::Key keys = random::split(random::key(3), 4);
  const Array a = array({0.2, 1., 3., 50.});
  const auto one = [](const Array& words, const Array& alpha) {
    const random::Key key{words};
    return std::vector<Array>{
        random::gamma(key, alpha, Shape{2}), random::beta(key, alpha, 2.0, Shape{2}),
        random::poisson(key, alpha, Shape{2}), random::choice(key, 10, {3}, {.replace = false})};
  };
  const std::vector<Array> mapped = vmap(one)(keys.data, a);
  for (int64_t i = 0; i < 4; ++i) {
    const std::vector<Array> alone = one(keys[i].data, index(a, i));
    for (size_t k = 0; k < alone.size(); ++k)
      expect_close(index(mapped[k], i).to_host(), alone[k].to_host(), 1e-6, 1e-6);
  }
}

TEST(RandomParametric, IsTheSameSharded) {
  initialize({.devices = "cpu:8"});
  const Mesh mesh(create_device_mesh({2, 4}), {"x", "y"});
  const random::Key key = random::key(42);
  const Array a = linspace(0.1, 20, 16 * 8);
  const auto draw = [&](const Array& alpha) {
    const Array x = reshape(alpha, {16, 8});
    return std::vector<Array>{random::gamma(key, x), random::poisson(key, x),
                              random::dirichlet(key, x)};
  };
  const std::vector<Array> whole = jit(draw)(a);
  const auto sharded = jit([&](const Array& alpha) {
    return with_sharding_constraint(draw(alpha), NamedSharding(mesh, P("x", "y")));
  });
  const std::vector<Array> cut = sharded(a);
  for (size_t i = 0; i < whole.size(); ++i)
    expect_close(cut[i].to_host(), whole[i].to_host(), 1e-6, 1e-6);
  initialize({.devices = "cpu:1"});
}

TEST(RandomParametric, HasTheMomentsOfItsDistribution) {
  const int64_t n = 200000;
  const random::Key key = random::key(9);
  const auto expect_moments = [](const Array& x, double m, double v) {
    const double deviation = std::sqrt(v / static_cast<double>(x.size()));
    EXPECT_NEAR(mean(x).item<double>(), m, 5 * deviation);
    EXPECT_NEAR(var(x).item<double>(), v, 0.05 * v);
  };
  expect_moments(random::gamma(key, 0.4, Shape{n}), 0.4, 0.4);
  expect_moments(random::gamma(key, 4.0, Shape{n}), 4, 4);
  expect_moments(random::beta(key, 2.0, 3.0, Shape{n}), 0.4, 0.04);
  expect_moments(random::poisson(key, 3.0, Shape{n}), 3, 3);
  expect_moments(random::poisson(key, 25.0, Shape{n}), 25, 25);
}

TEST(RandomParametric, MayBeOfNothing) {
  const random::Key key = random::key(1);
  EXPECT_EQ(random::gamma(key, 0.7, Shape{0, 2}).shape(), (Shape{0, 2}));
  EXPECT_EQ(random::dirichlet(key, zeros({0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(random::multivariate_normal(key, zeros({0}), zeros({0, 0}), Shape{3}).shape(),
            (Shape{3, 0}));
}

TEST(RandomOrthogonal, HasOrthonormalRowsOrColumns) {
  for (const auto& [n, m] : {std::pair{65, 65}, std::pair{200, 33}, std::pair{10, 300}}) {
    const Array q = random::orthogonal(random::key(1), n, {}, {}, m);
    const Array gram = n <= m ? matmul(q, transpose(q)) : matmul(transpose(q), q);
    expect_close(gram.to_host(), identity(std::min(n, m)).to_host(), 0, 2e-6);
  }
}

TEST(RandomParametricErrors, EachIsAUserError) {
  const random::Key key = random::key(0), keys = random::split(key, 3);
  const Array vector = array({1., 2., 3.}), complex = Array(Literal(complex64, {}));
  expect_error([&] { random::gamma(keys, 1.0); }, "[random::gamma] expected a single key");
  expect_error([&] { random::gamma(key, vector, Shape{2}); },
               "[random::gamma] expected shapes that broadcast");
  expect_error([&] { random::gamma(key, vector, Shape{1}); },
               "[random::gamma] expected parameters that broadcast to the shape (1,), got (3,)");
  expect_error([&] { random::gamma(key, complex); },
               "[random::gamma] expected real parameters, got complex64[]");
  expect_error([&] { random::loggamma(key, vector, Shape{3}, int32); },
               "[random::loggamma] expected a floating-point dtype, got int32");
  expect_error([&] { random::beta(key, vector, ones(2)); },
               "[random::beta] expected shapes that broadcast");
  expect_error([&] { random::dirichlet(key, 1.0); },
               "[random::dirichlet] expected one concentration a class");
  expect_error([&] { random::poisson(key, 1.0, Shape{2}, float32); },
               "[random::poisson] expected an integer dtype, got float32");
  expect_error([&] { random::poisson(key, 1.0, Shape{-2}); },
               "[random::poisson] expected extents of at least 0");
  expect_error(
      [&] {
        random::multivariate_normal(key, vector, ones(Shape{2, 2}));
      },
      "[random::multivariate_normal] expected a mean (..., n) and a covariance");
  expect_error(
      [&] {
        random::multivariate_normal(key, vector, ones(Shape{3, 3}), Shape{}, int32);
      },
      "[random::multivariate_normal] expected a floating-point dtype, got int32");
  expect_error([&] { random::orthogonal(key, -1); },
               "[random::orthogonal] expected extents of at least 0");
  expect_error([&] { random::orthogonal(key, 2, {}, bfloat16); },
               "[random::orthogonal] expected a float32 or float64 matrix");
  expect_error([&] { random::choice(key, array(3), {2}); },
               "[random::choice] expected an array with an axis to choose along");
  expect_error([&] { random::choice(key, vector, {2}, {.axis = 1}); }, "[-1, 1)");
  expect_error([&] { random::choice(key, 0, {2}); },
               "[random::choice] expected at least one element to choose from, got 0");
  expect_error(
      [&] {
        random::choice(key, 3, {2, 2}, {.replace = false});
      },
      "[random::choice] expected at most 3 draws from 3 elements without replacement");
  expect_error([&] { random::choice(key, 3, {2}, {.p = ones(2)}); },
               "[random::choice] expected one probability for each of 3 elements");
  expect_error([&] { random::choice(key, 1, {2}, {.p = reshape(complex, {1})}); },
               "[random::choice] expected real probabilities");
}

}  // namespace
}  // namespace tessera::parametric_test
