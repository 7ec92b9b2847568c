// shard_map: eager, in jit, nested and partly manual; and its errors.
#include "tessera/compile/shard_map.h"

#include <fstream>

#include "tests/compile/devices.h"

namespace tessera::shard_map_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class ShardMap : public DevicesTest {};

TEST_F(ShardMap, Eagerly) {
  const auto f = shard_map([](const Array& x) { return psum(sum(x), "x"); },
                           {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P()}});
  EXPECT_EQ(f(iota({16})).item<float>(), 120);
  const auto g = shard_map([](const Array& x) { return x + astype(axis_index("x"), float32); },
                           {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P("x")}});
  const Array y = g(zeros({8}));
  EXPECT_THAT(values(y), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(y.sharding().named(), on8(P("x")));
}

TEST_F(ShardMap, InJit) {
  const auto f = jit([](const Array& x) {
    const auto inner = shard_map([](const Array& v) { return v - pmean(v, "x"); },
                                 {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P("x")}});
    return inner(x * 2) + 1;
  });
  EXPECT_THAT(values(f(iota({8}))), ElementsAre(-6, -4, -2, 0, 2, 4, 6, 8));
}

TEST_F(ShardMap, ManyArgumentsAndTrees) {
  const auto f = shard_map(
      [](const std::pair<Array, Array>& p, const std::map<std::string, Array>& m) {
        return std::pair(psum(p.first, "x"), p.second + m.at("a"));
      },
      {.mesh = mesh8(), .in_specs = {{P("x"), P()}, P()}, .out_specs = {P(), P()}});
  const auto [a, b] =
      f(std::pair(iota({8}), iota({2})), std::map<std::string, Array>{{"a", ones({2})}});
  EXPECT_THAT(values(a), ElementsAre(28));
  EXPECT_THAT(values(b), ElementsAre(1, 2));
}

TEST_F(ShardMap, ClosesOverArraysAndTracers) {
  const Array scale = Array(3.f), big = iota({100});
  const auto f = jit([&](const Array& x) {
    const Array shift = sum(x);
    return shard_map([&](const Array& v) { return v * scale + shift + sum(big); },
                     {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P("x")}})(x);
  });
  EXPECT_EQ(values(f(iota({8})))[2], 6 + 28 + 4950);
}

TEST_F(ShardMap, PartialManual) {
  const auto f = jit(shard_map(
      [](const Array& x, const Array& w) { return psum(matmul(x, w), "x"); },
      {.mesh = mesh24(), .in_specs = {P("x"), P()}, .out_specs = {P()}, .axis_names = {"x"}}));
  const Array x = device_put(iota({4, 8}), on24(P("x", "y"))),
              w = device_put(ones({8, 2}), on24(P("y")));
  const Array y = f(x, w);
  EXPECT_EQ(y.shape(), Shape({2, 2}));
  EXPECT_EQ(values(y)[0], 28 + 156);  // the sum of rows 0 and 2
}

TEST_F(ShardMap, Nested) {
  const auto f = shard_map(
      [](const Array& x) {
        const Array inner =
            shard_map([](const Array& v) { return v + psum(v, "y"); }, {.mesh = mesh24(),
                                                                        .in_specs = {P(None, "y")},
                                                                        .out_specs = {P(None, "y")},
                                                                        .axis_names = {"y"}})(x);
        return inner + psum(inner, "x");
      },
      {.mesh = mesh24(), .in_specs = {P("x")}, .out_specs = {P("x")}, .axis_names = {"x"}});
  const Array y = jit(f)(ones({2, 4}));
  EXPECT_THAT(values(y), Each(15.f));  // (1 + 4) + 2 (1 + 4)
}

// Axes inside shard_map are those of the user's mesh, although a sharding elsewhere divides one of
// them in two.
TEST_F(ShardMap, AxisIndexBesideAnAxisThatIsCutFiner) {
  const Mesh grid(create_device_mesh({2, 2, 2}), {"a", "b", "c"});
  const auto f = [&](const Array& x) {
    const Array ranks = shard_map(
        [](const Array& v) {
          return shard_map(
              [](const Array& w) { return w + axis_index("y") + 10 * axis_index("x"); },
              {.mesh = mesh24(),
               .in_specs = {P(None, "y")},
               .out_specs = {P(None, "y")},
               .axis_names = {"y"}})(v);
        },
        {.mesh = mesh24(), .in_specs = {P("x")}, .out_specs = {P("x")}, .axis_names = {"x"}})(x);
    return with_sharding_constraint(reshape(ranks, {2, 2, 2}), NamedSharding(grid, P("b", "c")));
  };
  const Array x = zeros({2, 4});
  EXPECT_THAT(values(jit(f)(x)), ElementsAre(0, 1, 2, 3, 10, 11, 12, 13));
  const NamedSharding half(mesh24(), P(None, AxisRef{"y", 1, 2}));
  const auto g = jit(
      [](const Array& v) {
        return shard_map(
            [](const Array& w) { return w + axis_index("y"); },
            {.mesh = mesh24(), .in_specs = {P("x", "y")}, .out_specs = {P("x", "y")}})(v);
      },
      {.out_shardings = {half}});
  EXPECT_THAT(values(g(x)), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
}

TEST_F(ShardMap, WithoutVmaChecks) {
  const auto f =
      shard_map([](const Array& x) { return x; },
                {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P()}, .check_vma = false});
  EXPECT_THAT(values(f(ones({8}))), ElementsAre(1));
}

TEST_F(ShardMap, OneSpecForAllArguments) {
  const auto f = shard_map([](const Array& a, const Array& b) { return a + b; },
                           {.mesh = mesh8(), .in_specs = P("x"), .out_specs = P("x")});
  EXPECT_THAT(values(f(iota({8}), ones({8}))), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  const auto g = jit([](const Array& a, const Array& b) { return a + b; },
                     {.in_shardings = on8(P("x")), .out_shardings = on8(P())});
  EXPECT_THAT(values(g(iota({8}), ones({8}))), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

// --- What is refused ---

template <class F>
std::string refused(F f, std::vector<PrefixTree<PartitionSpec>> in,
                    std::vector<PrefixTree<PartitionSpec>> out, const Array& x) {
  return error_of([&] { shard_map(f, {.mesh = mesh24(), .in_specs = in, .out_specs = out})(x); });
}
Array same(const Array& x) { return x; }

TEST_F(ShardMap, BadSpecs) {
  EXPECT_THAT(
      refused(same, {P("z")}, {P()}, iota({8})),
      HasSubstr("expected axes that are manual here, of 'x', 'y', in in_specs[0], got 'z'"));
  EXPECT_THAT(refused(same, {P("x", "x")}, {P("x")}, iota({8, 8})), HasSubstr("twice"));
  EXPECT_THAT(refused(same, {P(None, "x")}, {P("x")}, iota({8})), HasSubstr("at most 1"));
  EXPECT_THAT(refused(same, {P("y")}, {P("y")}, iota({6})),
              AllOf(HasSubstr("multiple of 4"), HasSubstr("6")));
  EXPECT_THAT(refused(same, {P("x"), P("x")}, {P("x")}, iota({8})), HasSubstr("in_specs"));
  EXPECT_THAT(refused(same, {P("x")}, {P("x"), P("x")}, iota({8})), HasSubstr("out_specs"));
  EXPECT_THAT(refused(same, {{P("x"), P("x")}}, {P("x")}, iota({8})), HasSubstr("in_specs"));
  EXPECT_THAT(refused(same, {P("x")}, {P(None, "x")}, iota({8})), HasSubstr("out_spec"));
}

TEST_F(ShardMap, AnOutSpecThatClaimsReplication) {
  EXPECT_THAT(refused(same, {P("x")}, {P()}, iota({8})), AllOf(HasSubstr("x"), HasSubstr("var")));
}

TEST_F(ShardMap, AxesThatAreNotBound) {
  EXPECT_THAT(error_of([] { psum(iota({8}), "x"); }), HasSubstr("x"));
  EXPECT_THAT(refused([](const Array& x) { return psum(x, "z"); }, {P("x")}, {P("x")}, iota({8})),
              HasSubstr("z"));
  EXPECT_THAT(error_of([] {
                shard_map(same, {.mesh = mesh24(),
                                 .in_specs = {P("x")},
                                 .out_specs = {P("x")},
                                 .axis_names = {"w"}})(iota({8}));
              }),
              HasSubstr("w"));
}

TEST_F(ShardMap, WrongDeviceCounts) {
  EXPECT_THAT(error_of([] {
                Mesh(create_device_mesh({3, 3}), {"x", "y"});
              }),
              HasSubstr("the number of devices, 8, got shape (3, 3)"));
  EXPECT_THAT(error_of([] {
                shard_map(same, {.mesh = Mesh::abstract({16}, {"x"}),
                                 .in_specs = {P("x")},
                                 .out_specs = {P("x")}})(iota({16}));
              }),
              HasSubstr("abstract"));
}

// --- Many collectives ---

int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
  return 0;
}

// In JAX a psum is a rendezvous of threads, and many outstanding ones exhaust the threads. Here it
// is a step of the schedule.
TEST_F(ShardMap, ManyPsumsInBoundedMemory) {
  const auto f = jit(shard_map([](const Array& x) { return psum(x, "x") * 0.125; },
                               {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P()}}));
  const auto step = jit([&](const Array& x) {
    Array y = x;
    for (int i = 0; i < 10; ++i) y = device_put(broadcast_to(f(y), {8, 4}), on8(P("x")));
    return y;
  });
  Array x = device_put(ones({8, 4}), on8(P("x")));
  for (int i = 0; i < 100; ++i) x = step(x);
  const int64_t before = resident_kib();
  for (int i = 0; i < 1900; ++i) x = step(x);
  EXPECT_THAT(values(x), Each(1.f));
  EXPECT_LT(resident_kib() - before, 20000);
}

}  // namespace
}  // namespace tessera::shard_map_test
