// Derivatives of and inside shard_map. The transposes of collectives follow from the axes over
// which types vary.
#include "tessera/compile/grad.h"
#include "tessera/ir/lowering.h"
#include "tests/compile/devices.h"

namespace tessera::shard_map_grad_test {

using namespace ir;

namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class ShardMapGrad : public DevicesTest {};

Array close_to(const Array& x) { return sin(x) * x; }

TEST_F(ShardMapGrad, OfElementwise) {
  const auto f =
      shard_map(close_to, {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P("x")}});
  const auto total = [&](const Array& x) { return sum(f(x) * f(x)); };
  const auto want = grad([](const Array& x) { return sum(close_to(x) * close_to(x)); });
  EXPECT_THAT(values(grad(total)(iota({16}))),
              Pointwise(FloatNear(1e-4), values(want(iota({16})))));
  EXPECT_THAT(values(jit(grad(total))(iota({16}))),
              Pointwise(FloatNear(1e-4), values(want(iota({16})))));
}

// The cotangent of a replicated operand is the sum over devices; that of a psum is broadcast to all
// devices.
TEST_F(ShardMapGrad, ReplicatedOperandsAndPsum) {
  const auto f = shard_map(
      [](const Array& w, const Array& x) { return psum(sum(matmul(x, w) * matmul(x, w)), "x"); },
      {.mesh = mesh8(), .in_specs = {P(), P("x")}, .out_specs = {P()}});
  const auto plain = [](const Array& w, const Array& x) {
    return sum(matmul(x, w) * matmul(x, w));
  };
  const Array w = iota({3, 2}), x = iota({8, 3}) / 10;
  const auto [gw, gx] = grad<0, 1>([&](const Array& a, const Array& b) { return f(a, b); })(w, x);
  const auto [pw, px] = grad<0, 1>(plain)(w, x);
  EXPECT_THAT(values(gw), Pointwise(FloatNear(1e-2), values(pw)));
  EXPECT_THAT(values(gx), Pointwise(FloatNear(1e-3), values(px)));
}

// The gradient of an extremum goes to the device that has it. If several devices have it, each gets
// a part.
TEST_F(ShardMapGrad, Extrema) {
  const auto check = [](const auto& body, const auto& plain, const Array& x) {
    const auto f = shard_map(body, {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P("x")}});
    const auto loss = [](const auto& g) {
      return [g](const Array& v) { return sum(sin(g(v)) * cos(iota({16}))); };
    };
    EXPECT_THAT(values(jit(grad(loss(f)))(x)),
                Pointwise(FloatNear(1e-5), values(grad(loss(plain))(x))));
  };
  const Array x = cos(iota({16})) + 2;
  check([](const Array& v) { return v / pmax(max(v), "x"); },
        [](const Array& v) { return v / max(v); }, x);
  check([](const Array& v) { return v * pmin(min(v), "x"); },
        [](const Array& v) { return v * min(v); }, x);
  const Array ties = minimum(x, 2.25f);
  check([](const Array& v) { return v / pmax(v, "x"); },
        [](const Array& v) {
          return v / tile(max(reshape(v, {8, 2}), {.axis = 0}), 8);
        },
        ties);
}

TEST_F(ShardMapGrad, Collectives) {
  const auto check = [](const auto& body, PartitionSpec out, const auto& plain) {
    const auto f = shard_map(body, {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {out}});
    const Array x = cos(iota({64}));
    const auto loss = [&](const Array& v) { return sum(f(v) * sin(f(v))); };
    const auto want = [&](const Array& v) { return sum(plain(v) * sin(plain(v))); };
    EXPECT_THAT(values(f(x)), Pointwise(FloatNear(1e-5), values(plain(x))));
    EXPECT_THAT(values(jit(grad(loss))(x)), Pointwise(FloatNear(1e-4), values(grad(want)(x))));
    // The second derivative works too.
    const auto hvp = [&](const auto& g) {
      return grad([g](const Array& v) { return sum(g(v) * cos(v)); });
    };
    EXPECT_THAT(values(jit(hvp(grad(loss)))(x)),
                Pointwise(FloatNear(1e-3), values(hvp(grad(want))(x))));
  };
  check([](const Array& v) { return all_gather(v, "x", {.tiled = true}) * axis_size("x"); }, P("x"),
        [](const Array& v) { return tile(v, {8}) * 8; });
  check([](const Array& v) { return psum(v, "x"); }, P(),
        [](const Array& v) {
          return sum(reshape(v, {8, 8}), {.axis = 0});
        });
  check([](const Array& v) { return pmean(v * v, "x"); }, P(),
        [](const Array& v) {
          return mean(reshape(v * v, {8, 8}), {.axis = 0});
        });
  check([](const Array& v) { return psum_scatter(v, "x", {.tiled = true}); }, P("x"),
        [](const Array& v) {
          return sum(reshape(v, {8, 8}), {.axis = 0});
        });
  check(
      [](const Array& v) {
        std::vector<std::pair<int, int>> ring;
        for (int i = 0; i < 8; ++i) ring.push_back({i, (i + 1) % 8});
        return ppermute(v, "x", ring);
      },
      P("x"), [](const Array& v) { return roll(v, 8); });
  check([](const Array& v) { return all_to_all(v, "x", 0, 0, {.tiled = true}); }, P("x"),
        [](const Array& v) {
          return reshape(transpose(reshape(v, {8, 8})), {64});
        });
}

// Inside shard_map, the gradient of a loss that varies varies too; that of a loss which is the same
// on all devices is the same.
TEST_F(ShardMapGrad, InsideVariesAsTheLossDoes) {
  const Array w = iota({2}), x = iota({8, 2});
  const auto own = shard_map(
      [](const Array& w, const Array& x) {
        return grad([](const Array& w, const Array& x) { return sum(x * w); })(w, x);
      },
      {.mesh = mesh8(), .in_specs = {P(), P("x")}, .out_specs = {P("x")}});
  EXPECT_THAT(values(own(w, x)), Pointwise(FloatEq(), values(x)));
  const auto mean_of_own = shard_map(
      [](const Array& w, const Array& x) {
        return pmean(grad([](const Array& w, const Array& x) { return sum(x * w); })(w, x), "x");
      },
      {.mesh = mesh8(), .in_specs = {P(), P("x")}, .out_specs = {P()}});
  EXPECT_THAT(values(mean_of_own(w, x)), ElementsAre(7, 8));
  const auto common = shard_map(
      [](const Array& w, const Array& x) {
        return grad([](const Array& w, const Array& x) { return pmean(sum(x * w), "x"); })(w, x);
      },
      {.mesh = mesh8(), .in_specs = {P(), P("x")}, .out_specs = {P()}});
  EXPECT_THAT(values(common(w, x)), ElementsAre(7, 8));
  EXPECT_THAT(error_of([&] {
                shard_map(
                    [](const Array& w, const Array& x) {
                      return grad([](const Array& w, const Array& x) { return sum(x * w); })(w, x);
                    },
                    {.mesh = mesh8(), .in_specs = {P(), P("x")}, .out_specs = {P()}})(w, x);
              }),
              HasSubstr("reduce over it"));
}

TEST_F(ShardMapGrad, WithoutCheckOfVariance) {
  const auto f =
      shard_map([](const Array& x) { return all_gather(x, "x", {.tiled = true}); },
                {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P()}, .check_vma = false});
  const auto g = grad([&](const Array& x) { return sum(f(x) * f(x)); });
  EXPECT_THAT(values(g(iota({8}))), Pointwise(FloatEq(), values(iota({8}) * 2)));
}

TEST_F(ShardMapGrad, PartialManualAndNested) {
  const auto f = shard_map(
      [](const Array& x) {
        const auto inner =
            shard_map([](const Array& v) { return psum(v * v, "y"); }, {.mesh = mesh24(),
                                                                        .in_specs = {P(None, "y")},
                                                                        .out_specs = {P()},
                                                                        .axis_names = {"y"}});
        return inner(x) * 2;
      },
      {.mesh = mesh24(), .in_specs = {P("x")}, .out_specs = {P("x")}, .axis_names = {"x"}});
  const Array x = iota({4, 8}) / 10;
  const auto loss = [&](const Array& v) { return sum(f(v)); };
  EXPECT_THAT(values(jit(grad(loss))(x)), Pointwise(FloatNear(1e-4), values(x * 4)));
}

TEST_F(ShardMapGrad, Jvp) {
  const auto f = shard_map([](const Array& x) { return psum(x * x, "x"); },
                           {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P()}});
  const auto [y, t] = jvp(f, std::tuple(iota({8})), std::tuple(ones({8})));
  EXPECT_THAT(values(y), ElementsAre(140));
  EXPECT_THAT(values(t), ElementsAre(56));
}

Mesh mesh_of(const Shape& shape, std::vector<std::string> axes) {
  std::vector<Device> some = devices();
  some.resize(static_cast<size_t>(shape.elements()));
  return Mesh(create_device_mesh(shape, {.devices = some}), std::move(axes));
}

// The gradient of a scalar function of (w, x), taken in shard_map's body and around it.
struct BothWays {
  float inside, outside;
};
template <class Body>
BothWays both_ways(const Mesh& mesh, const Body& body, const Array& w, const Array& x,
                   bool check_vma = true) {
  const auto map = [&](const auto& f) {
    return shard_map(
        f, {.mesh = mesh, .in_specs = {P(), P("a")}, .out_specs = {P()}, .check_vma = check_vma});
  };
  return {map(grad(body))(w, x).template item<float>(),
          grad(map(body))(w, x).template item<float>()};
}
void expect_both(const BothWays& got, float want) {
  EXPECT_FLOAT_EQ(got.inside, want);
  EXPECT_FLOAT_EQ(got.outside, want);
}

// A value has a use that varies and one that does not. The cotangent of the varying use is summed
// over devices before the other one is added. The numbers are JAX's.
TEST_F(ShardMapGrad, CastAndUncastUsesOfOneValue) {
  const Mesh two = mesh_of({2}, {"a"});
  const Array w(0.7f), x = array({.3f, -.5f});
  const auto at = [](const Array& x) { return sum(x); };  // the only element of a shard
  for (bool check_vma : {true, false}) {
    SCOPED_TRACE(check_vma);
    const auto check = [&](const auto& body, float want) {
      expect_both(both_ways(two, body, w, x, check_vma), want);
    };
    check([](const Array& w, const Array& x) { return pmean(mean(w * x), "a") + sum(w * w) / 2; },
          0.6f);
    check([&](const Array& w, const Array& x) { return w + psum(w * at(x), "a"); }, 0.8f);
    check([&](const Array& w, const Array& x) { return psum(w * at(x) + w, "a"); }, 1.8f);
    check([&](const Array& w, const Array& x) { return psum(w * at(x) + w, "a") * w; },
          0.7f * 1.8f + 0.7f * 1.8f);
    check(
        [&](const Array& w, const Array& x) {
          return checkpoint([&](const Array& w, const Array& x) {
                   return psum(w * at(x) + w, "a");
                 })(w, x) +
                 w * w;
        },
        3.2f);
  }
}

TEST_F(ShardMapGrad, SumsOverDifferentAxes) {
  const Mesh mesh = mesh_of({2, 2}, {"a", "b"});
  const Array w(0.7f), x = array({.3f, -.5f}), y = array({.1f, .7f});
  const auto body = [](const Array& w, const Array& x, const Array& y) {
    return psum(w * sum(x), "a") + psum(w * sum(y), "b");
  };
  const auto map = [&](const auto& f) {
    return shard_map(f, {.mesh = mesh, .in_specs = {P(), P("a"), P("b")}, .out_specs = {P()}});
  };
  EXPECT_FLOAT_EQ(map(grad(body))(w, x, y).item<float>(), 0.6f);
  EXPECT_FLOAT_EQ(grad(map(body))(w, x, y).item<float>(), 0.6f);
}

// The mean over devices of each device's gradient is the gradient of the mean of their losses.
TEST_F(ShardMapGrad, MeanOfOwnGradientsIsTheGradientOfTheMean) {
  const Array w = iota({3}) / 3, x = sin(iota({8, 3}));
  const auto own = [](const Array& w, const Array& x) {
    const Array h = tanh(x * w);
    return sum(h * w) + sum(w * w) + psum(sum(h), "x") * sum(w);
  };
  const auto map = [&](const auto& f) {
    return shard_map(f, {.mesh = mesh8(), .in_specs = {P(), P("x")}, .out_specs = {P()}});
  };
  const auto mean_of_gradients =
      map([&](const Array& w, const Array& x) { return pmean(grad(own)(w, x), "x"); });
  const auto gradient_of_mean =
      map(grad([&](const Array& w, const Array& x) { return pmean(own(w, x), "x"); }));
  const auto plain = grad([](const Array& w, const Array& x) {
    const Array h = tanh(x * w);
    return sum(h * w) / 8 + sum(w * w) + sum(h) * sum(w);
  });
  EXPECT_THAT(values(mean_of_gradients(w, x)), Pointwise(FloatNear(1e-5), values(plain(w, x))));
  EXPECT_THAT(values(gradient_of_mean(w, x)), Pointwise(FloatNear(1e-5), values(plain(w, x))));
}

// If each device has its own copy of the weights, it also has its own condition.
TEST_F(ShardMapGrad, BranchOnACopyOfTheWeights) {
  const Array w(0.5f), x = iota({8});
  const auto own = shard_map(
      [](const Array& w, const Array& x) {
        const auto loss = [&](const Array& w) {
          return cond(
                     w > 0, [](const Array& v) { return v * v; },
                     [](const Array& v) { return psum(v, "x"); }, w) *
                 sum(x);
        };
        return reshape(grad(loss)(w), {1});
      },
      {.mesh = mesh8(), .in_specs = {P(), P("x")}, .out_specs = {P("x")}});
  EXPECT_THAT(values(own(w, x)), Pointwise(FloatEq(), values(x)));
}

// A loop of layers with a sum over one axis, inside a loop with a carry that varies over another
// axis.
class ShardMapLoopGrad : public ShardMapGrad {
 protected:
  static Array layers(const Array& w, const Array& h) {
    return scan(
               [](const Array& h, const Array& w) {
                 return std::pair(tanh(h + psum(h * w, "tp")), std::tuple<>());
               },
               h, w)
        .first;
  }
  // Returns the same computation without loops and on one device.
  static Array plain(const Array& w, const Array& h) {
    Array out = h;
    for (int trip = 0; trip < 3; ++trip)
      for (int64_t l = 0; l < w.shape(1); ++l)
        out = tanh(out + out * sum(take(w, static_cast<int>(l), {.axis = 1})));
    return sum(out);
  }
  static Mesh mesh() { return mesh_of({2, 2}, {"pp", "tp"}); }
};

TEST_F(ShardMapLoopGrad, WeightsCapturedInALoopOfLoops) {
  const Array w = sin(iota({2, 4})) / 3, h = cos(iota({2, 5}));
  const auto body = [](const Array& w, const Array& h) {
    const Array mine = reshape(w, {4});
    const Array out = fori_loop(
        0, 3, [&](const Array&, const Array& h) { return layers(mine, h); }, h);
    return psum(sum(out), "pp");
  };
  const auto checkpointed = [](const Array& w, const Array& h) {
    const Array mine = reshape(w, {4});
    const auto once = checkpoint([](const Array& w, const Array& h) { return layers(w, h); });
    const Array out = fori_loop(
        0, 3, [&](const Array&, const Array& h) { return once(mine, h); }, h);
    return psum(sum(out), "pp");
  };
  const auto branched = [](const Array& w, const Array& h) {
    const Array mine = reshape(w, {4});
    const Array out = fori_loop(
        0, 3,
        [&](const Array& i, const Array& h) {
          return cond(
              i >= 0, [&](const Array& h) { return layers(mine, h); },
              [](const Array& h) { return psum(h, "tp") * 0; }, h);
        },
        h);
    return psum(sum(out), "pp");
  };
  const auto want = grad<0, 1>(plain)(w, h);
  const auto guarded = [](const Array& w, const Array& h) {
    const Array mine = reshape(w, {4}), shared = sum(psum(mine, "tp")) * 0 + 1;
    const Array out = fori_loop(
        0, 3,
        [&](const Array&, const Array& h) {
          return cond(
              shared > 0, [&](const Array& h) { return layers(mine, h * shared); },
              [](const Array& h) { return h; }, h);
        },
        h);
    return psum(sum(out), "pp");
  };
  const auto check = [&](const char* what, const auto& f) {
    SCOPED_TRACE(what);
    const auto map = [&](const auto& g, std::vector<PrefixTree<PartitionSpec>> out) {
      return shard_map(g, {.mesh = mesh(), .in_specs = {P("tp"), P("pp")}, .out_specs = out});
    };
    EXPECT_NEAR(map(f, {P()})(w, h).template item<float>(), plain(w, h).item<float>(), 1e-5);
    const auto [value, outside] = value_and_grad<0, 1>(map(f, {P()}))(w, h);
    EXPECT_THAT(values(std::get<0>(outside)),
                Pointwise(FloatNear(1e-5), values(std::get<0>(want))));
    EXPECT_THAT(values(std::get<1>(outside)),
                Pointwise(FloatNear(1e-5), values(std::get<1>(want))));
    const auto inside = map(grad<0, 1>(f), {P("tp"), P("pp")})(w, h);
    EXPECT_THAT(values(std::get<0>(inside)), Pointwise(FloatNear(1e-5), values(std::get<0>(want))));
    EXPECT_THAT(values(std::get<1>(inside)), Pointwise(FloatNear(1e-5), values(std::get<1>(want))));
    const auto [y, t] = jvp(map(f, {P()}), std::tuple(w, h), std::tuple(cos(w), sin(h)));
    EXPECT_NEAR(t.template item<float>(),
                sum(std::get<0>(want) * cos(w)).item<float>() +
                    sum(std::get<1>(want) * sin(h)).template item<float>(),
                1e-4);
  };
  check("plain", body);
  check("checkpointed", checkpointed);
  check("branched", branched);
  check("guarded by what is the same everywhere", guarded);
}

}  // namespace
}  // namespace tessera::shard_map_grad_test
