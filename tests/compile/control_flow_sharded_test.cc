// Loops and branches on eight devices: sharded carries, collectives inside of bodies, shard_map.
// Each is compared with the program on one device.
#include <algorithm>
#include <cmath>

#include "tessera/ir/lowering.h"
#include "tests/compile/devices.h"

namespace tessera::control_flow_sharded_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class ShardedControlFlow : public DevicesTest {};

Array element(const Array& x, int64_t i) { return squeeze(slice_in_dim(x, i, i + 1), 0); }

template <class A, class B>
void expect_close(const A& a, const B& b, float tolerance = 1e-5F) {
  const std::vector<Array> x = tree::leaves(a), y = tree::leaves(b);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i].shape(), y[i].shape());
    const std::vector<float> got = values(x[i]), want = values(y[i]);
    for (size_t k = 0; k < got.size(); ++k)
      EXPECT_NEAR(got[k], want[k], tolerance * std::max(1.F, std::abs(want[k])))
          << "leaf " << i << ", element " << k;
  }
}

TEST_F(ShardedControlFlow, CarriesKeepTheirSharding) {
  const auto f = jit([](const Array& x, const Array& steps) {
    return scan([](const Array& c, const Array& s) { return std::pair(sin(c) * s + 1, c * s); }, x,
                steps);
  });
  const Array x = iota({16, 3}) / 10, steps = arange(5.0);
  const Array sharded = device_put(x, on8(P("x", None)));
  const auto lowered = f.lower(sharded, steps);
  EXPECT_TRUE(lowered.collectives().empty()) << lowered.explain();
  const auto out = f(sharded, steps);
  expect_close(out, f(x, steps));
  EXPECT_EQ(out.first.sharding(), Sharding(on8(P("x", None))));
  EXPECT_EQ(out.second.sharding(), Sharding(on8(P(None, "x", None))));
}

TEST_F(ShardedControlFlow, CollectivesOfABodyCountEveryTrip) {
  // Each trip multiplies by a matrix whose rows are sharded: there is an all_reduce in each
  // iteration.
  const auto f = jit([](const Array& h, const Array& ws) {
    return scan([](const Array& h, const Array& w) { return std::pair(tanh(matmul(h, w)), None); },
                h, ws)
        .first;
  });
  const Array h = iota({4, 16}) / 64, ws = sin(iota({3, 16, 16}));
  const Array sharded = device_put(ws, on8(P(None, "x", None)));
  const auto lowered = f.lower(h, sharded);
  ASSERT_FALSE(lowered.collectives().empty());
  for (const Collective& c : lowered.collectives()) EXPECT_EQ(c.times, 3) << lowered.explain();
  EXPECT_THAT(lowered.explain(), HasSubstr("x 3 trips"));
  expect_close(f(h, sharded), f(h, ws));
}

TEST_F(ShardedControlFlow, TheScannedDimensionIsGathered) {
  const auto f = jit([](const Array& xs) {
    return scan([](const Array& c, const Array& x) { return std::pair(c + x, c * x); }, zeros({3}),
                xs);
  });
  const Array xs = iota({16, 3});
  expect_close(f(device_put(xs, on8(P("x", None)))), f(xs));
}

TEST_F(ShardedControlFlow, UnevenShards) {
  // Ten rows on eight devices: sums must not include the padding.
  const auto f = jit([](const Array& x, const Array& steps) {
    return scan(
        [](const Array& c, const Array& s) {
          Array next = c + mean(cos(c), {.axis = 0}) * s;
          return std::pair(next, sum(cos(next), {.axis = 0}));
        },
        x, steps);
  });
  const Array x = iota({10, 4}) / 10, steps = arange(3.0) + 1;
  const auto sharded = jit([&](const Array& x, const Array& s) { return f(x, s); },
                           {.in_shardings = {on8(P("x", None)), on8(P())}});
  expect_close(sharded(x, steps), f(x, steps));
}

TEST_F(ShardedControlFlow, WhileWithAShardedState) {
  const auto f = jit([](const Array& x) {
    return while_loop(
        [](const std::pair<Array, Array>& s) { return sum(s.first) > 1; },
        [](const std::pair<Array, Array>& s) { return std::pair(s.first / 2, s.second + 1); },
        std::pair(x, Array(0)));
  });
  const Array x = iota({16});
  const auto lowered = f.lower(device_put(x, on8(P("x"))));
  ASSERT_EQ(lowered.collectives().size(), 1U) << lowered.explain();
  EXPECT_EQ(lowered.collectives()[0].times, -1);
  EXPECT_THAT(lowered.explain(), HasSubstr("every trip"));
  const auto out = f(device_put(x, on8(P("x")))), expected = f(x);
  expect_close(out.first, expected.first);
  EXPECT_EQ(out.second.item<int>(), 7);
  EXPECT_EQ(out.first.sharding(), Sharding(on8(P("x"))));
}

TEST_F(ShardedControlFlow, BranchesOnShards) {
  const std::tuple branches(
      [](const Array& x, const Array& y) { return std::pair(x + y, x); },
      [](const Array& x, const Array&) {
        return std::pair(ones({16, 16}), sum(x) * x);
      },
      [](const Array& x, const Array& y) { return std::pair(x, matmul(y, x) / 100); });
  const auto f = jit(
      [&](const Array& i, const Array& x, const Array& y) { return switch_(i, branches, x, y); });
  const Array x = iota({16, 16}) / 100, y = sin(x);
  for (int i : {-1, 0, 1, 2, 3})
    expect_close(f(i, device_put(x, on8(P("x", None))), device_put(y, on8(P(None, "x")))),
                 f(i, x, y), 1e-4F);
}

// The shards of a manual computation are moved to a new order of devices, after which the array
// varies along one axis only. A sum along this axis is the same on all devices.
TEST_F(ShardedControlFlow, AnIndexComputedFromReorderedShards) {
  const Mesh mesh(
      create_device_mesh({2, 2}, {.devices = {devices().begin(), devices().begin() + 4}}),
      {"a", "b"});
  const auto f = [&](const Array& x) {
    const Array y = shard_map(
        [](const Array& v) { return v; },
        {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}, .axis_names = {"a"}})(x);
    return switch_(astype(round(sum(y)), int32),
                   std::vector<std::function<Array(const Array&)>>{
                       [](const Array& v) { return v; }, [](const Array& v) { return -v; }},
                   x);
  };
  const Array x = array({0.25, 0.75});
  EXPECT_EQ(values(jit(f)(device_put(x, NamedSharding(mesh, P("b"))))), values(-x));
}

TEST_F(ShardedControlFlow, NestedLoops) {
  const auto f = jit([](const Array& x) {
    return fori_loop(
        0, 3,
        [](const Array&, const Array& x) {
          return fori_loop(
              0, 2, [](const Array& j, const Array& x) { return x * 0.5 + mean(x) + j; }, x);
        },
        x);
  });
  const Array x = iota({16});
  const auto lowered = f.lower(device_put(x, on8(P("x"))));
  ASSERT_EQ(lowered.collectives().size(), 1U) << lowered.explain();
  EXPECT_EQ(lowered.collectives()[0].times, 6);
  expect_close(f(device_put(x, on8(P("x")))), f(x), 1e-4F);
}

// --- Inside shard_map ---

// Device i applies layer i, and activations are sent by ppermute. In JAX users must cast the zeros
// with which the loop starts; here the cast follows from the body.
TEST_F(ShardedControlFlow, PipelineInsideShardMap) {
  const int stages = 8;
  const Array layers = sin(iota({stages, 3, 3})), inputs = cos(iota({5, 2, 3}));
  std::vector<std::pair<int, int>> forward;
  for (int i = 0; i + 1 < stages; ++i) forward.push_back({i, i + 1});
  for (bool cast : {true, false}) {
    const auto pipeline = shard_map(
        [&](const Array& layer, const Array& inputs) {
          const Array stage = axis_index("x"), weight = squeeze(layer, 0);
          const Array zero = zeros_like(element(inputs, 0));
          const auto tick = [&](const Array& state, const Array& t) {
            const Array fresh = dynamic_index_in_dim(inputs, minimum(t, 4), 0);
            const Array out = tanh(matmul(where(stage == 0, squeeze(fresh, 0), state), weight));
            return std::pair(ppermute(out, "x", forward), out);
          };
          auto [last, outs] =
              scan(tick, cast ? pcast_varying(zero, "x") : zero, arange(5 + stages - 1));
          const Array mine = where(stage == stages - 1, outs, zeros_like(outs));
          return psum(slice_in_dim(mine, stages - 1, stages - 1 + 5), "x");
        },
        {.mesh = mesh8(), .in_specs = {P("x"), P()}, .out_specs = {P()}});
    Array expected = inputs;
    for (int i = 0; i < stages; ++i) expected = tanh(matmul(expected, element(layers, i)));
    expect_close(jit(pipeline)(layers, inputs), expected);
    expect_close(pipeline(layers, inputs), expected);
  }
}

TEST_F(ShardedControlFlow, EveryDeviceStopsByItself) {
  const auto f = shard_map(
      [](const Array& x) {
        const Array limit = axis_index("x") * 10;
        return reshape(while_loop([&](const Array& c) { return sum(c) < limit; },
                                  [](const Array& c) { return c * 2 + 1; }, x),
                       {-1});
      },
      {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P("x")}});
  std::vector<float> expected;
  for (int d = 0; d < 8; ++d) {
    float c = static_cast<float>(d);
    while (c < static_cast<float>(10 * d)) c = 2 * c + 1;
    expected.push_back(c);
  }
  EXPECT_EQ(values(f(iota({8}))), expected);
  EXPECT_EQ(values(jit(f)(iota({8}))), expected);
}

TEST_F(ShardedControlFlow, DevicesTakeDifferentBranches) {
  const auto f = shard_map(
      [](const Array& x) {
        const Array device = axis_index("x");
        const Array a = cond(
            device > 3, [](const Array& x) { return x * 10; }, [](const Array& x) { return -x; },
            x);
        return switch_(
            device % 3,
            std::tuple([](const Array& x) { return x; }, [](const Array& x) { return x + 1000; },
                       [](const Array&) { return zeros({1}); }),
            a);
      },
      {.mesh = mesh8(), .in_specs = {P("x")}, .out_specs = {P("x")}});
  std::vector<float> expected;
  for (int d = 0; d < 8; ++d) {
    const float a = static_cast<float>(d > 3 ? 10 * d : -d);
    expected.push_back(d % 3 == 0 ? a : d % 3 == 1 ? a + 1000 : 0);
  }
  EXPECT_EQ(values(jit(f)(iota({8}))), expected);
}

TEST_F(ShardedControlFlow, ReplicatedBranchesInsideShardMap) {
  // The predicate is the same on all devices, so one branch runs, with its collective.
  const auto f = jit(shard_map(
      [](const Array& pred, const Array& x) {
        return cond(
            pred, [](const Array& x) { return x + psum(x, "x"); },
            [](const Array&) { return ones({2}); }, x);
      },
      {.mesh = mesh8(), .in_specs = {P(), P("x")}, .out_specs = {P("x")}}));
  std::vector<float> expected;
  for (int i = 0; i < 16; ++i) expected.push_back(static_cast<float>(i + (i % 2 ? 64 : 56)));
  EXPECT_EQ(values(f(Array(true), iota({16}))), expected);
  EXPECT_EQ(values(f(Array(false), iota({16}))), std::vector<float>(16, 1));
}

}  // namespace
}  // namespace tessera::control_flow_sharded_test
