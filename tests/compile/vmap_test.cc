// vmap: axes, trees, names, nesting, under and over other transforms; constraints inside.
#include "tessera/compile/vmap.h"

#include "tessera/compile/grad.h"
#include "tessera/ir/lowering.h"
#include "tests/compile/devices.h"

namespace tessera::vmap_test {

using namespace ir;

namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class Vmap : public DevicesTest {};

TEST_F(Vmap, MapsLeadingDimensions) {
  const auto dot = [](const Array& a, const Array& b) { return sum(a * b); };
  EXPECT_THAT(values(vmap(dot)(iota({2, 3}), ones({2, 3}))), ElementsAre(3, 12));
  EXPECT_THAT(values(jit(vmap(dot))(iota({2, 3}), ones({2, 3}))), ElementsAre(3, 12));
  EXPECT_THAT(values(vmap(dot, {.in_axes = {0, None}})(iota({2, 3}), ones({3}))),
              ElementsAre(3, 12));
  EXPECT_THAT(values(vmap(dot, {.in_axes = {1, -1}})(iota({3, 2}), ones({3, 2}))),
              ElementsAre(6, 9));
}

TEST_F(Vmap, OutAxesAndTrees) {
  const auto f = [](const std::pair<Array, Array>& p, const Array& s) {
    return std::pair(p.first * s, p.second + s);
  };
  const auto [a, b] = vmap(f, {.in_axes = {{0, None}, None}, .out_axes = {1, None}})(
      std::pair(iota({2, 3}), iota({4})), Array(2.f));
  EXPECT_EQ(a.shape(), (Shape{3, 2}));
  EXPECT_THAT(values(a), ElementsAre(0, 6, 2, 8, 4, 10));
  EXPECT_THAT(values(b), ElementsAre(2, 3, 4, 5));
}

TEST_F(Vmap, Nests) {
  const auto mul = [](const Array& a, const Array& b) { return a * b; };
  const auto outer = vmap(vmap(mul, {.in_axes = {None, 0}}), {.in_axes = {0, None}});
  EXPECT_THAT(values(outer(iota({2}), iota({3}))), ElementsAre(0, 0, 0, 0, 1, 2));
}

TEST_F(Vmap, NamedAxis) {
  const auto centred = vmap([](const Array& x) { return x - pmean(x, "i"); }, {.axis_name = "i"});
  EXPECT_THAT(values(centred(iota({4}))), ElementsAre(-1.5, -0.5, 0.5, 1.5));
  const auto total =
      vmap([](const Array& x) { return psum(x, "i"); }, {.out_axes = {None}, .axis_name = "i"});
  EXPECT_THAT(values(total(iota({3, 2}))), ElementsAre(6, 9));
  const auto index =
      vmap([](const Array& x) { return x + axis_index("i") * axis_size("i"); }, {.axis_name = "i"});
  EXPECT_THAT(values(index(zeros({3}))), ElementsAre(0, 3, 6));
  const auto gathered =
      vmap([](const Array& x) { return sum(all_gather(x, "i") * x); }, {.axis_name = "i"});
  EXPECT_THAT(values(gathered(iota({3}))), ElementsAre(0, 3, 6));
  const auto shifted = vmap(
      [](const Array& x) {
        return ppermute(x, "i", {{0, 1}, {1, 2}});
      },
      {.axis_name = "i"});
  EXPECT_THAT(values(shifted(iota({3}) + 1)), ElementsAre(0, 1, 2));
  const auto scattered = vmap([](const Array& x) { return psum_scatter(x, "i", {.tiled = true}); },
                              {.axis_name = "i"});
  EXPECT_THAT(values(scattered(iota({2, 4}))), ElementsAre(4, 6, 8, 10));
  const auto swapped = vmap(
      [](const Array& x) { return all_to_all(x, "i", 0, 0, {.tiled = true}); }, {.axis_name = "i"});
  EXPECT_THAT(values(swapped(iota({2, 4}))), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

// A collective over a name and a mesh axis at once, in shard_map.
TEST_F(Vmap, InShardMap) {
  const auto f = shard_map(
      [](const Array& x) {
        return vmap([](const Array& v) { return v - psum(v, {"i", "x"}); }, {.axis_name = "i"})(x);
      },
      {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P("x")}});
  EXPECT_THAT(values(f(iota({16}) - 7)), Pointwise(FloatNear(1e-6), values(iota({16}) - 15)));
}

// A shard_map inside a vmap can use the vmap's name, alone and together with its own axes.
TEST_F(Vmap, NamedAxisInsideShardMap) {
  const auto inner = shard_map(
      [](const Array& v) {
        return v - psum(v, {"i", "x"});
      },
      {.mesh = mesh24(), .in_specs = P("x"), .out_specs = P("x")});
  const auto f = vmap(inner, {.axis_name = "i"});
  EXPECT_THAT(values(f(iota({3, 2}))), ElementsAre(-15, -14, -13, -12, -11, -10));
}

// A result of a region that does not depend on the example stays unmapped.
TEST_F(Vmap, ResultsOfRegionsThatAreTheSameForAll) {
  const auto total = [](const Array& x) { return psum(x, "i"); };
  const auto none = VmapOptions{.out_axes = None, .axis_name = "i"};
  const Array x = iota({3});
  EXPECT_EQ(vmap(checkpoint(total), none)(x).item<float>(), 3);
  const auto with_vjp = custom_vjp(
      total, [&](const Array& v) { return std::pair(total(v), v); },
      [](const Array& v, const Array& ct) { return std::tuple(ct * v); });
  EXPECT_EQ(vmap(with_vjp, none)(x).item<float>(), 3);
  EXPECT_THAT(values(grad(vmap(with_vjp, none))(x)), ElementsAre(0, 1, 2));
  const auto with_jvp =
      custom_jvp(total, [&](const std::tuple<Array>& v, const std::tuple<Array>& t) {
        return std::pair(total(std::get<0>(v)), total(std::get<0>(t)));
      });
  EXPECT_EQ(vmap(with_jvp, none)(x).item<float>(), 3);
  const auto looped = [&](const Array& v) {
    return fori_loop(
        0, 2, [&](const Array&, const Array& c) { return c + total(v); }, Array(0.f));
  };
  EXPECT_EQ(vmap(looped, none)(x).item<float>(), 6);
}

// A branch that an example does not take adds nothing to its gradient, not even 0 * inf.
TEST_F(Vmap, GradientsOfBranchesThatAreNotTaken) {
  const auto root = [](const Array& v) {
    return cond(
        v > 0, [](const Array& a) { return sqrt(a); }, [](const Array& a) { return a * 0; }, v);
  };
  const auto total = [&](const Array& x) { return sum(vmap(root)(x)); };
  EXPECT_THAT(values(grad(total)(array({0.f, 4.f}))), ElementsAre(0, 0.25));
  const auto scaled = [](const Array& v, const Array& u) {
    return switch_(astype(v, int32),
                   std::tuple([](const Array& a, const Array& b) { return a * b; },
                              [](const Array& a, const Array& b) { return a * sqrt(b); }),
                   v, u);
  };
  const auto both = [&](const Array& x, const Array& u) {
    return sum(vmap(scaled, {.in_axes = {0, None}})(x, u));
  };
  const auto [gx, gu] = grad<0, 1>(both)(array({0.f, 0.5f}), Array(0.f));
  EXPECT_THAT(values(gx), ElementsAre(0, 0));
  EXPECT_EQ(gu.item<float>(), 0.5f);
}

TEST_F(Vmap, OneAxisForAllArguments) {
  const auto add = [](const Array& a, const Array& b) { return a + b; };
  EXPECT_EQ(vmap(add, {.in_axes = 1, .out_axes = 1})(iota({2, 3}), iota({2, 3})).shape(),
            (Shape{2, 3}));
  EXPECT_THAT(values(vmap(add, {.in_axes = None, .axis_size = 2})(Array(1.f), Array(2.f))),
              ElementsAre(3, 3));
}

TEST_F(Vmap, OfShardMap) {
  const auto inner = shard_map([](const Array& x) { return x - pmean(x, "x"); },
                               {.mesh = mesh24(), .in_specs = {P("x")}, .out_specs = {P("x")}});
  const Array x = iota({4, 2});
  EXPECT_THAT(values(vmap(inner)(x)), ElementsAre(-.5, .5, -.5, .5, -.5, .5, -.5, .5));
  EXPECT_THAT(
      values(vmap(inner, {.in_axes = {1}, .out_axes = {1}, .spmd_axis_name = "y"})(transpose(x))),
      ElementsAre(-.5, -.5, -.5, -.5, .5, .5, .5, .5));
}

TEST_F(Vmap, WithGrad) {
  const auto loss = [](const Array& w, const Array& x) { return sum(sin(x * w)); };
  const Array w = iota({3}), x = iota({2, 3}) / 3;
  const Array per_example = vmap(grad(loss), {.in_axes = {None, 0}})(w, x);
  EXPECT_THAT(values(per_example), Pointwise(FloatNear(1e-5), values(x * cos(x * w))));
  const auto total = [&](const Array& v) { return sum(vmap(loss, {.in_axes = {None, 0}})(v, x)); };
  EXPECT_THAT(values(grad(total)(w)),
              Pointwise(FloatNear(1e-5), values(sum(x * cos(x * w), {.axis = 0}))));
}

TEST_F(Vmap, Refuses) {
  const auto add = [](const Array& a, const Array& b) { return a + b; };
  EXPECT_THAT(error_of([&] { vmap(add)(iota({2}), iota({3})); }),
              HasSubstr("[vmap] expected mapped dimensions of one size, got 2 from dimension 0 of "
                        "argument 0 and 3 from dimension 0 of argument 1"));
  EXPECT_THAT(error_of([&] {
                vmap(add, {.in_axes = {2, 0}})(iota({2}), iota({3}));
              }),
              HasSubstr("[vmap] expected in_axes in [-1, 1) for argument 0"));
  EXPECT_THAT(error_of([&] {
                vmap(add, {.in_axes = {None, None}})(iota({2}), iota({2}));
              }),
              HasSubstr("expected a mapped argument or an axis_size"));
  EXPECT_THAT(error_of([&] { vmap(add, {.out_axes = {None}})(iota({2}), iota({2})); }),
              HasSubstr("as out_axes None says"));
  EXPECT_THAT(error_of([&] { vmap(add, {.out_axes = {3}})(iota({2}), iota({2})); }),
              HasSubstr("expected out_axes in [-1, 1)"));
  EXPECT_THAT(error_of([&] {
                vmap([](const Array& x) { return psum(x, "j"); }, {.axis_name = "i"})(iota({2}));
              }),
              HasSubstr("[psum] expected a bound axis, one of 'i', got 'j'"));
}

TEST_F(Vmap, ConstraintsInside) {
  const auto f = [](const Array& x) { return with_sharding_constraint(x, on8(P("x"))) * 2; };
  const Array x = iota({16, 1});
  EXPECT_THAT(error_of([&] { vmap(f)(x); }), HasSubstr("Indivisible::kHoist"));
  const Array hoisted = jit(vmap(f, {.indivisible = Indivisible::kHoist}))(x);
  EXPECT_EQ(hoisted.sharding().named(), on8(P("x")));
  EXPECT_THAT(values(hoisted), Pointwise(FloatNear(0), values(x * 2)));
  EXPECT_THAT(values(vmap(f, {.indivisible = Indivisible::kReplicate})(x)),
              Pointwise(FloatNear(0), values(x * 2)));
  const Array spmd =
      jit(vmap([](const Array& v) { return with_sharding_constraint(v, on24(P("y"))); },
               {.spmd_axis_name = "x"}))(iota({4, 8}));
  EXPECT_EQ(spmd.sharding().named(), on24(P("x", "y")));
}

// The gradients of all examples (8 MiB for the second weights) are never stored.
TEST_F(Vmap, MeansOfGradientsAreOneProduct) {
  const auto loss = [](const std::pair<Array, Array>& w, const Array& x) {
    return sum(square(matmul(tanh(matmul(x, w.first)), w.second)));
  };
  const std::pair w{sin(iota({32, 256})), cos(iota({256, 128}))};
  const Array x = sin(iota({64, 32}));
  const auto one_by_one = jit([&](const std::pair<Array, Array>& w, const Array& x) {
    const auto gradients = vmap(grad(loss), {.in_axes = {None, 0}})(w, x);
    return tree::map([](const Array& g) { return mean(g, {.axis = 0}); }, gradients);
  });
  const auto at_once =
      jit(grad([&](const std::pair<Array, Array>& w, const Array& x) { return loss(w, x) / 64; }));
  EXPECT_LE(one_by_one.lower(w, x).cost().arena_bytes,
            at_once.lower(w, x).cost().arena_bytes + 4 * (32 * 256 + 256 * 128));
  const auto got = one_by_one(w, x), want = at_once(w, x);
  EXPECT_THAT(values(got.first), Pointwise(FloatNear(2e-3F), values(want.first)));
  EXPECT_THAT(values(got.second), Pointwise(FloatNear(2e-3F), values(want.second)));
}

}  // namespace
}  // namespace tessera::vmap_test
