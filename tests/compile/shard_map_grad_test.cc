// Derivatives of and inside shard_map: the transposes of collectives by the typing of variance.
#include "tessera/compile/grad.h"
#include "tests/compile/devices.h"

namespace tessera {
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

// A replicated operand gets the sum of what the devices give; a sum over devices spreads.
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

TEST_F(ShardMapGrad, Collectives) {
  const auto check = [](const auto& body, PartitionSpec out, const auto& plain) {
    const auto f = shard_map(body, {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {out}});
    const Array x = cos(iota({64}));
    const auto loss = [&](const Array& v) { return sum(f(v) * sin(f(v))); };
    const auto want = [&](const Array& v) { return sum(plain(v) * sin(plain(v))); };
    EXPECT_THAT(values(f(x)), Pointwise(FloatNear(1e-5), values(plain(x))));
    EXPECT_THAT(values(jit(grad(loss))(x)), Pointwise(FloatNear(1e-4), values(grad(want)(x))));
    // Twice: the derivative is a function like any other.
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

// Inside: the gradient of a device's own loss is the device's own; of a common loss it is common.
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

}  // namespace
}  // namespace tessera
