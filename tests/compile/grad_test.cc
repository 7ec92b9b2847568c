// grad, value_and_grad, vjp, jvp, linearize: values, trees, nesting and errors.
#include "tessera/compile/grad.h"

#include <cmath>

#include "tessera/ir/lowering.h"
#include "tests/compile/devices.h"

namespace tessera::grad_test {

using namespace ir;

namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class Grad : public DevicesTest {};

struct Params {
  Array kernel, bias;
  bool use_bias = true;
};

Array loss(const Params& p, const Array& x, const Array& y) {
  return mean(square(matmul(x, p.kernel) + p.bias - y));
}

TEST_F(Grad, OfAScalarFunction) {
  EXPECT_FLOAT_EQ(grad([](const Array& x) { return sin(x); })(1.0f).item<float>(), std::cos(1.0f));
  const auto f = [](const Array& x) { return sum(x * x * x); };
  EXPECT_THAT(values(grad(f)(iota({3}))), ElementsAre(0, 3, 12));
  EXPECT_THAT(values(jit(grad(f))(iota({3}))), ElementsAre(0, 3, 12));
}

TEST_F(Grad, HasTheTypeOfItsArgument) {
  const Params p{ones({2, 1}), zeros({1})};
  const Array x = reshape(iota({4}), {2, 2}), y = ones({2, 1});
  const auto [value, g] = value_and_grad(loss)(p, x, y);
  static_assert(std::is_same_v<std::decay_t<decltype(g)>, Params>);
  EXPECT_FLOAT_EQ(value.item<float>(), 8);  // errors 0 and 4
  EXPECT_THAT(values(g.kernel), ElementsAre(8, 12));
  EXPECT_THAT(values(g.bias), ElementsAre(4));
  const auto [gx, gy] = grad<1, 2>(loss)(p, x, y);
  EXPECT_THAT(values(gx), ElementsAre(0, 0, 4, 4));
  EXPECT_THAT(values(gy), ElementsAre(0, -4));
}

TEST_F(Grad, AuxiliaryResults) {
  const auto f = [](const Array& x) { return std::pair(sum(x * x), std::tuple(x + 1, sum(x))); };
  const auto [value, g] = value_and_grad(f)(iota({2}));
  EXPECT_EQ(value.first.item<float>(), 1);
  EXPECT_THAT(values(std::get<0>(value.second)), ElementsAre(1, 2));
  EXPECT_THAT(values(g), ElementsAre(0, 2));
  const auto [g2, aux] = grad(f)(iota({2}));
  EXPECT_EQ(std::get<1>(aux).item<float>(), 1);
  EXPECT_THAT(values(g2), ElementsAre(0, 2));
}

TEST_F(Grad, NestsToAnyOrder) {
  const auto f = [](const Array& x) { return sin(x) * x; };
  const auto d3 = grad(grad(grad(f)));
  const double x = 0.7;
  EXPECT_NEAR(d3(Array(static_cast<float>(x))).item<double>(), -3 * std::sin(x) - x * std::cos(x),
              1e-5);
  EXPECT_NEAR(jit(d3)(static_cast<float>(x)).item<double>(), -3 * std::sin(x) - x * std::cos(x),
              1e-5);
}

TEST_F(Grad, ClosuresAreConstants) {
  const Array w = iota({3});
  const auto f = jit([&](const Array& x) {
    const Array scale = sum(x);
    return grad([&](const Array& y) { return sum(y * w) * scale; })(x);
  });
  EXPECT_THAT(values(f(iota({3}))), ElementsAre(0, 3, 6));
}

TEST_F(Grad, UnusedArgumentsHaveZeros) {
  const auto [a, b] =
      grad<0, 1>([](const Array& x, const Array&) { return sum(x); })(ones({2}), ones({2, 2}));
  EXPECT_THAT(values(a), ElementsAre(1, 1));
  EXPECT_THAT(values(b), ElementsAre(0, 0, 0, 0));
}

TEST_F(Grad, Vjp) {
  const auto [y, pullback] = vjp(
      [](const Array& a, const Array& b) { return std::pair(a * b, a + b); }, iota({3}), ones({3}));
  EXPECT_THAT(values(y.first), ElementsAre(0, 1, 2));
  const auto [da, db] = pullback(std::pair(ones({3}), iota({3})));
  EXPECT_THAT(values(da), ElementsAre(1, 2, 3));
  EXPECT_THAT(values(db), ElementsAre(0, 2, 4));
}

TEST_F(Grad, JvpAndLinearize) {
  const auto f = [](const Array& a, const Array& b) { return a * a * b; };
  const auto [y, t] = jvp(f, std::tuple(iota({2}), ones({2})), std::tuple(ones({2}), iota({2})));
  EXPECT_THAT(values(y), ElementsAre(0, 1));
  EXPECT_THAT(values(t), ElementsAre(0, 3));
  const auto [z, push] = linearize(f, iota({2}), ones({2}));
  EXPECT_THAT(values(push(ones({2}), iota({2}))), ElementsAre(0, 3));
}

TEST_F(Grad, ForwardOverReverse) {
  const auto f = [](const Array& x) { return sum(x * x * x); };
  const auto hvp = [&](const Array& x, const Array& v) {
    return jvp(grad(f), std::tuple(x), std::tuple(v)).second;
  };
  EXPECT_THAT(values(jit(hvp)(iota({3}), ones({3}))), ElementsAre(0, 6, 12));
}

TEST_F(Grad, Refuses) {
  EXPECT_THAT(
      error_of([&] { grad([](const Array& x) { return x * 2; })(iota({3})); }),
      HasSubstr(
          "[grad] expected a function whose result to differentiate is a scalar, got float32[3]"));
  EXPECT_THAT(error_of([&] { grad([](const Array& x) { return sum(x); })(arange(3)); }),
              HasSubstr("[grad] expected a float or complex array to differentiate by, got "
                        "int32[3] at argument 0"));
  EXPECT_THAT(
      error_of([&] { grad([](const Array& x) { return sum(astype(x, int32)); })(iota({3})); }),
      HasSubstr("[grad] expected a function with a real floating-point result, got int32[]"));
  const auto pullback = vjp([](const Array& x) { return x * 2; }, iota({3})).second;
  EXPECT_THAT(error_of([&] { pullback(ones({2})); }), HasSubstr("[vjp] expected a cotangent"));
  EXPECT_THAT(error_of([&] {
                jvp([](const Array& x) { return x * 2; }, std::tuple(iota({3})),
                    std::tuple(iota({2})));
              }),
              HasSubstr("[jvp] expected a tangent"));
}

TEST_F(Grad, FollowsShardings) {
  const Params p{device_put(ones({2, 1}), on8(P())), device_put(zeros({1}), on8(P()))};
  const Array x = device_put(reshape(iota({32}) / 8, {16, 2}), on8(P("x"))),
              y = device_put(ones({16, 1}), on8(P("x")));
  const auto f = jit(grad(loss));
  const Params g = f(p, x, y), want = grad(loss)(Params{ones({2, 1}), zeros({1})},
                                                 reshape(iota({32}) / 8, {16, 2}), ones({16, 1}));
  EXPECT_THAT(values(g.kernel), Pointwise(FloatNear(1e-4), values(want.kernel)));
  const std::vector<Collective> collectives = f.lower(p, x, y).collectives();
  ASSERT_EQ(collectives.size(), 1u);
  EXPECT_EQ(collectives[0].name, "all_reduce") << collectives[0].reason;
  EXPECT_EQ(collectives[0].parts.size(), 2u) << "one a parameter";
}

}  // namespace
}  // namespace tessera::grad_test
