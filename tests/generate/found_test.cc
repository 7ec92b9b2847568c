// Programs that the generator found and reduced, each with the cause of the error, which was fixed.
// The expected values are those of one device, or computed by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/tessera.h"

namespace tessera::found_test {
namespace {

class Found : public testing::Test {
 protected:
  void SetUp() override {
    initialize({.devices = "cpu:4"});
    enable_x64(true);
  }
  void TearDown() override { enable_x64(false); }
  Mesh two_by_two() { return make_mesh({2, 2}, {"a", "b"}); }
};

std::vector<double> elements(const Array& x) {
  const Literal wide = astype(x, float64).to_host();
  return {wide.data<double>(), wide.data<double>() + wide.elements()};
}
using Numbers = std::vector<double>;

// A block of a manual axis is padded if an automatic axis divides it unevenly. The whole array was
// treated as one list of shards with the padding at its end.
TEST_F(Found, ManualBlocksThatAnAutomaticAxisCutsUnevenly) {
  const Mesh mesh = two_by_two();
  const auto f = jit([&](const Array& x) {
    return shard_map(
        [](const Array& v) { return v * 2; },
        {.mesh = mesh, .in_specs = {P()}, .out_specs = {P("a")}, .axis_names = {"a"}})(x);
  });
  EXPECT_EQ(elements(f(device_put(array({-0.5}), NamedSharding(mesh, P("b"))))), (Numbers{-1, -1}));
  EXPECT_EQ(elements(f(device_put(array({1., 2., 3.}), NamedSharding(mesh, P("b"))))),
            (Numbers{2, 4, 6, 2, 4, 6}));
}

TEST_F(Found, AutomaticAxesThatCutAManualBlockUnevenly) {
  const Mesh mesh = two_by_two();
  const auto f = jit([&](const Array& x) {
    return shard_map([](const Array& v) { return v + 1; }, {.mesh = mesh,
                                                            .in_specs = {P(None, "b")},
                                                            .out_specs = {P(None, "b")},
                                                            .axis_names = {"b"}})(x);
  });
  const Array x = reshape(arange(12.), {2, 6});
  const Array cut = device_put(x, NamedSharding(mesh, P(None, joint("a", "b"))));
  EXPECT_EQ(elements(f(cut)), elements(x + 1));
}

// The rule carried its values together with the tangents, so they were recorded in the linear
// program.
TEST_F(Found, RulesOfCustomJvpWithALoop) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 3, [](const Array&, const Array& c) { return sin(c); }, x);
  };
  const auto g = custom_jvp(
      f, [&](const std::tuple<Array>& x, const std::tuple<Array>& t) { return jvp(f, x, t); });
  const auto loss = [&](const Array& x) { return sin(g(x)); };
  const double a = std::sin(0.3), b = std::sin(a), c = std::sin(b);
  EXPECT_NEAR(grad(loss)(Array(0.3)).item<double>(),
              std::cos(c) * std::cos(b) * std::cos(a) * std::cos(0.3), 1e-12);
}

// Inside a loop the axis of the vmap was looked up in the mesh.
TEST_F(Found, AxisOfAVmapInsideALoop) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 2,
        [&](const Array&, const Array& c) {
          return c + psum(x, "i") * astype(axis_index("i"), float64);
        },
        x);
  };
  const Array x = array({1., 2., 3.});
  EXPECT_EQ(elements(vmap(f, {.axis_name = "i"})(x)), (Numbers{1, 14, 27}));
  const auto total = [&](const Array& v) { return sum(vmap(f, {.axis_name = "i"})(v)); };
  EXPECT_EQ(elements(grad(total)(x)), (Numbers{7, 7, 7}));
}

// For a single element, the product of all other elements is empty.
TEST_F(Found, RunningProductsAlongAnExtentOfOne) {
  const auto loss = [](const Array& x) {
    return sum(cumprod(x, {.axis = 1}) * array({{2.}, {3.}}));
  };
  EXPECT_EQ(elements(grad(loss)(array({{5.}, {7.}}))), (Numbers{2, 3}));
}

// Values with a varying and an unvarying use: the cotangents of each use must be summed separately.
TEST_F(Found, ParametersThatAreUsedBothWays) {
  const Mesh mesh = make_mesh({4}, {"a"});
  const Array w = Array(0.7), x = array({0.3, -0.5, 0.1, -0.1});
  const auto loss = [&](const Array& v) {
    return shard_map(
        [](const Array& w, const Array& x) { return w * w / 2 + psum(sum(w * x), "a"); },
        {.mesh = mesh, .in_specs = {P(), P("a")}, .out_specs = {P()}})(v, x);
  };
  EXPECT_NEAR(grad(loss)(w).item<double>(), 0.7 - 0.2, 1e-12);
  EXPECT_NEAR(jit(grad(loss))(w).item<double>(), 0.7 - 0.2, 1e-12);
}

// all_to_all casts its operand to a varying one. If the loop has already cast its constants, this
// cast does nothing, but its cotangent was summed a second time.
TEST_F(Found, CastsOfWhatVariesAlready) {
  const Mesh mesh = make_mesh({4}, {"a"});
  const Array w = reshape(arange(16.), {4, 4});
  const auto loss = [&](const Array& x) {
    const auto body = [&](const Array&) {
      return scan(
                 [&](const std::vector<Array>& carry, const std::vector<Array>&) {
                   return std::pair(carry, std::vector{all_to_all(x, "a", 0, 0, {.tiled = true})});
                 },
                 std::vector<Array>{}, std::vector<Array>{}, {.length = 1})
          .second[0];
    };
    const auto f =
        shard_map(body, {.mesh = mesh, .in_specs = {P()}, .out_specs = {P(None, None, "a")}});
    return sum(f(Array(0.)) * w);
  };
  // Device d gets row d of each device, which is column d of the result.
  EXPECT_EQ(elements(grad(loss)(array({{1.}, {2.}, {3.}, {4.}}))), (Numbers{24, 28, 32, 36}));
}

// The second kernel computed the operands again with other roundings, so that none was equal to the
// maximum that the first one had found.
TEST_F(Found, ExtremaOfWhatIsComputedAgain) {
  const auto loss = [](const Array& x) {
    const Array y = rsqrt(square(x) + 0.7), h = hypot(y, square(y) + 0.3);
    return sum(sin(flip(h, 0) + 0.3)) + sum(sin(lgamma(square(y) + 0.5) + 0.6));
  };
  const std::vector<double> at = {-0.6088687181472778, -0.9010280966758728};
  const std::vector<double> g = elements(jit(grad(loss))(from_host(at, Shape{2})));
  for (size_t k = 0; k < 2; ++k) {
    std::vector<double> up = at, down = at;
    up[k] += 1e-6;
    down[k] -= 1e-6;
    const double rise = loss(from_host(up, Shape{2})).item<double>() -
                        loss(from_host(down, Shape{2})).item<double>();
    EXPECT_NEAR(g[k], rise / 2e-6, 1e-6);
  }
}

TEST_F(Found, ExtremaScatteredIntoNothing) {
  const auto loss = [](const Array& x, const Array& v) { return sum(at(x)[{arange(1)}].max(v)); };
  const auto [gx, gv] = grad<0, 1>(loss)(zeros({0}, float64), Array(0.5));
  EXPECT_EQ(gx.shape(), Shape{0});
  EXPECT_EQ(gv.item<double>(), 0);
}

// The share of an element was 1 divided by the number of elements that equal the extremum, which is
// 0 / 0 without elements (JAX returns NaN).
TEST_F(Found, TangentsOfExtremaOfNothing) {
  const auto f = [](const Array& x) { return max(x, {.axis = 1, .initial = -0.5}); };
  const Array x = zeros({2, 0});
  const auto [value, tangent] =
      jit([&](const Array& a) { return jvp(f, std::tuple(a), std::tuple(a)); })(x);
  EXPECT_EQ(elements(value), (Numbers{-0.5, -0.5}));
  EXPECT_EQ(elements(tangent), (Numbers{0, 0}));
}

}  // namespace
}  // namespace tessera::found_test
