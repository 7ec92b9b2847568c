// custom_jvp, custom_vjp, stop_gradient, checkpoint, jacfwd, jacrev, hessian.
#include <cmath>
#include <unordered_map>

#include "tessera/ir/lowering.h"
#include "tests/compile/devices.h"

namespace tessera::custom_derivatives_test {

using namespace ir;

namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class CustomDerivatives : public DevicesTest {};

Array at(const Array& x, int64_t i) { return index_in_dim(x, i, 0, false); }

TEST_F(CustomDerivatives, StopGradient) {
  const auto f = [](const Array& x) { return sum(x * stop_gradient(x)); };
  EXPECT_THAT(values(grad(f)(arange(3.f))), ElementsAre(0, 1, 2));
  EXPECT_THAT(values(grad([](const Array& x) { return sum(stop_gradient(std::pair(x, x)).first); })(
                  arange(3.f))),
              ElementsAre(0, 0, 0));
}

TEST_F(CustomDerivatives, CustomJvp) {
  // The rule returns three times the true derivative, so that it can be recognised.
  const auto f =
      custom_jvp([](const Array& x) { return sin(x); },
                 [](const std::tuple<Array>& x, const std::tuple<Array>& t) {
                   return std::pair(sin(std::get<0>(x)), 3 * cos(std::get<0>(x)) * std::get<0>(t));
                 });
  EXPECT_FLOAT_EQ(f(Array(1.f)).item<float>(), std::sin(1.f));
  const auto total = [&](const Array& x) { return sum(f(x)); };
  EXPECT_THAT(values(grad(total)(arange(3.f))),
              Pointwise(FloatNear(1e-5), values(3 * cos(arange(3.f)))));
  EXPECT_THAT(values(vmap(grad(f))(arange(3.f))),
              Pointwise(FloatNear(1e-5), values(3 * cos(arange(3.f)))));
  EXPECT_THAT(values(grad([&](const Array& x) { return sum(vmap(f)(x)); })(arange(3.f))),
              Pointwise(FloatNear(1e-5), values(3 * cos(arange(3.f)))));
  EXPECT_NEAR(jvp(f, std::tuple(Array(1.f)), std::tuple(Array(2.f))).second.item<float>(),
              6 * std::cos(1.f), 1e-5);
  EXPECT_NEAR(grad(grad(f))(1.f).item<float>(), -3 * std::sin(1.f), 1e-5);
  const auto bad = custom_jvp([](const Array& x) { return sin(x); },
                              [](const std::tuple<Array>& x, const std::tuple<Array>&) {
                                return std::pair(sin(std::get<0>(x)), zeros({3}));
                              });
  EXPECT_THAT(error_of([&] { bad(Array(1.f)); }),
              HasSubstr("[custom_jvp] expected tangent 0 of the rule of type float32[]"));
}

// For the reverse derivative, the values and the tangents of one loop in the rule are separated.
TEST_F(CustomDerivatives, CustomJvpWhoseRuleLoops) {
  const auto loop = [](const Array& x) {
    return fori_loop(
        0, 3, [](const Array&, const Array& h) { return tanh(h) + h * h / 4; }, x);
  };
  const auto f = custom_jvp(loop, [&](const std::tuple<Array>& x, const std::tuple<Array>& t) {
    return jvp(loop, x, t);
  });
  const Array x = arange(4.f) / 8;
  const auto total = [](const auto& g) { return [g](const Array& v) { return sum(sin(g(v))); }; };
  EXPECT_THAT(values(grad(total(f))(x)), Pointwise(FloatNear(1e-5), values(grad(total(loop))(x))));
  EXPECT_THAT(values(jit(hessian(total(f)))(x)),
              Pointwise(FloatNear(1e-4), values(hessian(total(loop))(x))));
  const auto scanned = [&](const auto& g) {
    return [g](const Array& v) {
      return sum(fori_loop(
          0, 2, [&](const Array&, const Array& h) { return g(h); }, v));
    };
  };
  EXPECT_THAT(values(grad(scanned(f))(x)),
              Pointwise(FloatNear(1e-5), values(grad(scanned(loop))(x))));
}

TEST_F(CustomDerivatives, CustomVjp) {
  const Array limit = Array(0.5f);
  // The rule clips the cotangent, with a captured limit.
  const auto f =
      custom_vjp([](const Array& x, const Array& y) { return x * y; },
                 [](const Array& x, const Array& y) { return std::pair(x * y, std::pair(x, y)); },
                 [&](const std::pair<Array, Array>& r, const Array& ct) {
                   const Array c = minimum(ct, limit);
                   return std::tuple(c * r.second, c * r.first);
                 });
  const auto total = [&](const Array& x, const Array& y) { return sum(f(x, y) * 4); };
  const auto [gx, gy] = grad<0, 1>(total)(arange(3.f), arange(3.f) + 1);
  EXPECT_THAT(values(gx), ElementsAre(.5, 1, 1.5));
  EXPECT_THAT(values(gy), ElementsAre(0, .5, 1));
  const auto mapped = [&](const Array& x, const Array& y) {
    return sum(vmap(f, {.in_axes = {0, None}})(x, y));
  };
  const auto [mx, my] = grad<0, 1>(mapped)(arange(3.f), Array(2.f));
  EXPECT_THAT(values(mx), ElementsAre(1, 1, 1));
  EXPECT_EQ(my.item<float>(), 1.5);
  EXPECT_THAT(
      error_of([&] { jvp(f, std::tuple(ones({}), ones({})), std::tuple(ones({}), ones({}))); }),
      HasSubstr("no forward derivative"));
  const auto bad = custom_vjp([](const Array& x) { return x * 2; },
                              [](const Array& x) { return std::pair(x * 2, x); },
                              [](const Array&, const Array&) { return std::tuple(zeros({7})); });
  EXPECT_THAT(error_of([&] { bad(ones({2})); }),
              HasSubstr("[custom_vjp] expected a cotangent of the type of argument 0, float32[2]"));
}

TEST_F(CustomDerivatives, CheckpointHasTheSameGradient) {
  const auto layer = [](const Array& w, const Array& x) {
    return tanh(checkpoint_name(matmul(sin(x), w), "product"));
  };
  const Array w = sin(reshape(arange(16.f), {4, 4})), x = cos(reshape(arange(8.f), {2, 4}));
  const auto total = [&](const auto& f) {
    return [&f](const Array& w, const Array& x) { return sum(square(f(w, f(w, x)))); };
  };
  const auto [pw, px] = grad<0, 1>(total(layer))(w, x);
  const auto has_gradient = [&](const auto& f) {
    const auto [gw, gx] = jit(grad<0, 1>(total(f)))(w, x);
    EXPECT_THAT(values(gw), Pointwise(FloatNear(1e-5), values(pw)));
    EXPECT_THAT(values(gx), Pointwise(FloatNear(1e-5), values(px)));
    return jit(grad<0, 1>(total(f))).lower(w, x).text("propagated");
  };
  const auto count = [](const std::string& text, const std::string& what) {
    int n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  const std::string plain = has_gradient(layer);
  EXPECT_EQ(count(plain, "stablehlo.tanh"), 2);
  const std::string nothing = has_gradient(checkpoint(layer));
  EXPECT_EQ(count(nothing, "stablehlo.tanh"), 4) << nothing;
  const int dots = count(plain, "dot_general");
  EXPECT_EQ(count(nothing, "dot_general"), dots + 2);
  EXPECT_EQ(
      count(has_gradient(checkpoint(layer, checkpoint_policies::dots_saveable)), "dot_general"),
      dots);
  EXPECT_EQ(count(has_gradient(checkpoint(layer, checkpoint_policies::everything_saveable)),
                  "stablehlo.tanh"),
            2);
  EXPECT_EQ(count(has_gradient(
                      checkpoint(layer, checkpoint_policies::save_only_these_names({"product"}))),
                  "dot_general"),
            dots);
  has_gradient(
      checkpoint(layer, checkpoint_policies::save_anything_except_these_names({"product"})));
  // The derivative under vmap, the second derivative, and the forward derivative.
  const auto scalar = [&](const Array& v) { return sum(checkpoint(layer)(w, v)); };
  const auto bare = [&](const Array& v) { return sum(layer(w, v)); };
  EXPECT_THAT(values(vmap(grad(scalar))(stack({x, x * 2}))),
              Pointwise(FloatNear(1e-5), values(vmap(grad(bare))(stack({x, x * 2})))));
  const auto twice = [&](const auto& f) {
    return grad([&f](const Array& v) { return sum(square(grad(f)(v))); });
  };
  EXPECT_THAT(values(twice(scalar)(x)), Pointwise(FloatNear(1e-4), values(twice(bare)(x))));
  EXPECT_NEAR(linearize(scalar, x).second(x).item<float>(),
              linearize(bare, x).second(x).item<float>(), 1e-4);
}

TEST_F(CustomDerivatives, JacobiansAndHessian) {
  const auto f = [](const Array& x) { return stack({at(x, 0) * at(x, 1), sin(at(x, 2)), sum(x)}); };
  const Array x = arange(3.f) + 1;
  const Array want = array({{2.f, 1.f, 0.f}, {0.f, 0.f, std::cos(3.f)}, {1.f, 1.f, 1.f}});
  EXPECT_THAT(values(jacfwd(f)(x)), Pointwise(FloatNear(1e-6), values(want)));
  EXPECT_THAT(values(jacrev(f)(x)), Pointwise(FloatNear(1e-6), values(want)));
  EXPECT_THAT(values(jit(jacrev(f))(x)), Pointwise(FloatNear(1e-6), values(want)));
  const auto cubic = [](const Array& v) { return sum(v * v * v) + at(v, 0) * at(v, 1); };
  EXPECT_THAT(values(jit(hessian(cubic))(x)),
              Pointwise(FloatNear(1e-5), std::vector<float>{6, 1, 0, 1, 12, 0, 0, 0, 18}));
  EXPECT_EQ(jacrev([](const Array& m) { return sum(m, {.axis = 0}); })(ones({2, 3})).shape(),
            (Shape{3, 2, 3}));
}

struct Layer {
  Array w, b;
};

TEST_F(CustomDerivatives, JacobiansByArgumentsAndTrees) {
  const auto f = [](const Layer& p, const Array& x) { return matmul(p.w, x) * 2 + p.b; };
  const Layer p{array({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}), ones({2})};
  const Array x = arange(3.f) + 1;
  // dy_i / dw_jk is 2 x_k if i = j, and 0 otherwise.
  const std::vector<float> by_w{2, 4, 6, 0, 0, 0, 0, 0, 0, 2, 4, 6}, by_b{1, 0, 0, 1};
  const auto check = [&](const auto& jacobian) {
    const auto [by_p, by_x] = jacobian(p, x);
    EXPECT_EQ(by_p.w.shape(), (Shape{2, 2, 3}));
    EXPECT_THAT(values(by_p.w), Pointwise(FloatNear(1e-6), by_w));
    EXPECT_THAT(values(by_p.b), Pointwise(FloatNear(1e-6), by_b));
    EXPECT_THAT(values(by_x), Pointwise(FloatNear(1e-6), values(2 * p.w)));
  };
  check(jacfwd<0, 1>(f));
  check(jit(jacrev<0, 1>(f)));
  EXPECT_THAT(values(jacrev<1>(f)(p, x)), Pointwise(FloatNear(1e-6), values(2 * p.w)));
  EXPECT_THAT(values(jacfwd(f)(p, x).b), Pointwise(FloatNear(1e-6), by_b));
}

TEST_F(CustomDerivatives, JacobiansOfTrees) {
  const auto f = [](const Array& a, const Array& b) {
    return std::pair(std::vector<Array>{a * b, sum(a)}, std::map<std::string, Array>{{"k", b * b}});
  };
  const Array a = arange(2.f) + 1, b = array({3.f, 5.f});
  const auto check = [&](const auto& jacobian) {
    const auto [list, map] = jacobian(a, b);
    EXPECT_THAT(values(std::get<0>(list[0])), ElementsAre(3, 0, 0, 5));
    EXPECT_THAT(values(std::get<1>(list[0])), ElementsAre(1, 0, 0, 2));
    EXPECT_THAT(values(std::get<0>(list[1])), ElementsAre(1, 1));
    EXPECT_THAT(values(std::get<1>(list[1])), ElementsAre(0, 0));
    EXPECT_THAT(values(std::get<1>(map.at("k"))), ElementsAre(6, 0, 0, 10));
  };
  check(jacfwd<0, 1>(f));
  check(jacrev<0, 1>(f));
  EXPECT_THAT(values(jacrev(f)(a, b).first[0]), ElementsAre(3, 0, 0, 5));
  const auto by_name = jacrev([](const Layer& p) {
    return std::unordered_map<std::string, Array>{{"sum", p.w + p.b}, {"product", p.w * p.b}};
  })(Layer{Array(2.f), Array(5.f)});
  EXPECT_EQ(by_name.at("product").w.item<float>(), 5);
  EXPECT_EQ(by_name.at("sum").w.item<float>(), 1);
  // The derivative of a struct by a struct: one struct of arguments for each leaf of the result.
  const std::vector<Layer> rows = jacrev([](const Layer& p) {
    return Layer{p.w * p.b, p.b * 3};
  })(Layer{Array(2.f), Array(5.f)});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].w.item<float>(), 5);
  EXPECT_EQ(rows[0].b.item<float>(), 2);
  EXPECT_EQ(rows[1].w.item<float>(), 0);
  EXPECT_EQ(rows[1].b.item<float>(), 3);
}

TEST_F(CustomDerivatives, HessiansByArguments) {
  const auto f = [](const Array& a, const Array& b) { return sum(a * a * b); };
  const Array a = array({1.f, 2.f}), b = array({3.f, 5.f});
  const auto [aa_ab, ba_bb] = jit(hessian<0, 1>(f))(a, b);
  EXPECT_THAT(values(std::get<0>(aa_ab)), ElementsAre(6, 0, 0, 10));
  EXPECT_THAT(values(std::get<1>(aa_ab)), ElementsAre(2, 0, 0, 4));
  EXPECT_THAT(values(std::get<0>(ba_bb)), ElementsAre(2, 0, 0, 4));
  EXPECT_THAT(values(std::get<1>(ba_bb)), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(values(hessian<1>(f)(a, b)), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(values(vmap(hessian([](const Array& v) { return v * v * v; }))(a)),
              ElementsAre(6, 12));
}

TEST_F(CustomDerivatives, JacobiansRefuse) {
  const auto same = [](const Array& x) { return x; };
  EXPECT_THAT(error_of([&] {
                jacfwd(same)(array({1, 2}));
              }),
              HasSubstr("[jacfwd] expected a float or complex array to differentiate by, got "
                        "int32[2] at argument 0"));
  EXPECT_THAT(error_of([&] { jacrev(same)(array({1, 2})); }), HasSubstr("[jacrev]"));
  const auto places = [](const Array& x) { return argmax(x); };
  EXPECT_THAT(error_of([&] { jacrev(places)(ones({2})); }),
              HasSubstr("[jacrev] expected results that are float or complex arrays, got int32[]"));
  EXPECT_THAT(error_of([&] { jacfwd(places)(ones({2})); }), HasSubstr("[jacfwd]"));
}

}  // namespace
}  // namespace tessera::custom_derivatives_test
