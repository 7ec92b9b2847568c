// Collectives inside loops, branches and transforms; whole training steps.
#include <atomic>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "tessera/ir/format.h"
#include "tests/cluster/recorded.h"

namespace tessera::control_test {
namespace {

class Control : public ClusterTest, public testing::WithParamInterface<int> {
 protected:
  Mesh m() const { return GetParam() == 0 ? mesh({2, 4}) : mesh({2, 4}, {5, 0, 3, 6, 1, 2, 7, 4}); }
  NamedSharding on(PartitionSpec spec) const { return NamedSharding(m(), std::move(spec)); }
  Array array(const Shape& shape, uint64_t seed, PartitionSpec spec) const {
    return placed(float32, shape, seed, on(std::move(spec)));
  }
  // Returns options that shard rows over all axes.
  ShardMapOptions rows(int arguments = 1) const {
    const PartitionSpec cut = P(joint("x", "y"));
    return {.mesh = m(),
            .in_specs = std::vector<PrefixTree<PartitionSpec>>(static_cast<size_t>(arguments), cut),
            .out_specs = {cut}};
  }
};
INSTANTIATE_TEST_SUITE_P(Orders, Control, testing::Values(0, 1));

TEST_P(Control, CollectivesInLoops) {
  const std::vector<std::pair<int, int>> ring{{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  const Array x = array({16, 8}, 1, P(joint("x", "y")));
  same("scan", jit(shard_map(
                   [&](const Array& v) {
                     return scan(
                                [&](const Array& c, const Array& row) {
                                  const Array next = ppermute(tanh(c + row), "y", ring);
                                  return std::pair(next, psum(next, "x"));
                                },
                                0 * index_in_dim(v, 0, 0, false), v)
                         .second;
                   },
                   rows()))(x));
  same("fori", jit(shard_map(
                   [&](const Array& v) {
                     return fori_loop(
                         0, 5,
                         [&](const Array& i, const Array& c) {
                           return c * 0.5f + psum(c, {"y", "x"}) * astype(i, float32) -
                                  index_in_dim(all_gather(c, "x"), 1, 0, false) +
                                  all_to_all(c, "x", 1, 1, {.tiled = true});
                         },
                         v);
                   },
                   rows()))(x));
  // It runs until the sum over all devices is large: the condition needs a collective, too.
  same("while", jit(shard_map(
                    [&](const Array& v) {
                      return while_loop(
                          [](const Array& c) {
                            return psum(sum(abs(c)), {"x", "y"}) < 1000.f;
                          },
                          [&](const Array& c) { return c + ppermute(abs(c), "y", ring) + 0.1f; },
                          v);
                    },
                    rows()))(x));
  // Each device makes its own number of iterations.
  same("divergent", jit(shard_map(
                        [&](const Array& v) {
                          return while_loop([](const Array& c) { return sum(abs(c)) < 50.f; },
                                            [&](const Array& c) { return c * 1.5f; }, v);
                        },
                        rows()))(x));
  same("empty", jit(shard_map(
                    [&](const Array& v) {
                      return fori_loop(
                          0, 0, [&](const Array&, const Array& c) { return c + psum(c, "x"); }, v);
                    },
                    rows()))(x));
}

TEST_P(Control, CollectivesInBranches) {
  const Array x = array({16, 8}, 1, P(joint("x", "y")));
  for (bool way : {false, true}) {
    const auto f = jit(shard_map(
        [&](const Array& v) {
          const Array total = psum(sum(v), {"x", "y"});
          return cond(
              way ? total < 1e6f : total > 1e6f, [](const Array& u) { return u + psum(u, "y"); },
              [](const Array& u) { return u * index_in_dim(all_gather(u, "x"), 0, 0, false); }, v);
        },
        rows()));
    same(fmt::format("cond {}", way), f(x));
  }
  same("divergent", jit(shard_map(
                        [&](const Array& v) {
                          return cond(
                              axis_index("y") > 1, [](const Array& u) { return sin(u); },
                              [](const Array& u) { return u + 1; }, v);
                        },
                        rows()))(x));
}

TEST_P(Control, LoopsThatArePartitioned) {
  const Array x = array({16, 24}, 1, P("x", "y")), w = array({24, 24}, 2, P("y", "x"));
  same("scan", jit([](const Array& v, const Array& u) {
                 return scan(
                     [&](const Array& c, const Array&) {
                       const Array next = tanh(matmul(c, u));
                       return std::pair(next, sum(next));
                     },
                     v, arange(6));
               })(x, w)
                   .second);
  const auto loss = [](const Array& u, const Array& v) {
    return sum(fori_loop(
        0, 4, [&](const Array&, const Array& c) { return tanh(matmul(c, u)) + c; }, v));
  };
  const auto [value, gradient] = jit(value_and_grad(loss))(w, x);
  same("value", value), same("gradient", gradient);
  same("while", jit([](const Array& v) {
         return while_loop([](const Array& c) { return sum(c * c) > 1.f; },
                           [](const Array& c) { return c * 0.7f + 0.01f * roll(c, 1, 0); }, v);
       })(x));
}

TEST_P(Control, Transforms) {
  const Array x = array({16, 8}, 1, P(joint("x", "y")));
  const auto mapped = shard_map(
      [](const Array& v) {
        const Array all = all_gather(v, "y", {.tiled = true});
        return v * psum(sum(all), "x") + pmean(v, {"x", "y"}) +
               psum_scatter(all, "y", {.tiled = true});
      },
      rows());
  const auto loss = [&](const Array& v) { return sum(sin(mapped(v))); };
  same("eager", mapped(x));
  same("grad", grad(loss)(x));
  same("jit grad", jit(grad(loss))(x));
  same("second", jit(grad([&](const Array& v) { return sum(grad(loss)(v) * v); }))(x));
  const auto [y, dy] =
      jit([&](const Array& v) { return jvp(mapped, std::tuple(v), std::tuple(v)); })(x);
  same("jvp y", y), same("jvp dy", dy);
  same("vmap", jit(vmap(mapped, {.in_axes = {2}, .out_axes = {2}}))(
                   array({16, 8, 3}, 4, P(joint("x", "y")))));
  same("inside", jit(shard_map(
                     [](const Array& v) {
                       return grad([](const Array& u) { return sum(psum(u * u, "y") * u); })(v);
                     },
                     rows()))(x));
}

// A thread runs programs of this process alone, while the main thread runs programs of all
// processes.
TEST_P(Control, ThreadsThatComputeAlone) {
  const Array mine = device_put(arange(1000.f), local_devices()[0]),
              x = array({64, 512}, 1, P("x", "y"));
  const auto alone = jit([](const Array& v) { return sum(cumsum(v) * 0.f + v); });
  const auto together = jit([](const Array& v) { return v * 0.5f + sum(v) + roll(v, 3, 1); });
  std::atomic<bool> ends{false};
  std::atomic<int> calls{0}, wrong{0};
  std::thread beside([&] {
    for (; !ends || calls == 0; ++calls) wrong += alone(mine).item<float>() != 499500.f;
  });
  Array y = x;
  for (int i = 0; i < 60; ++i) y = together(y) * 1e-3f;
  ends = true;
  beside.join();
  EXPECT_EQ(wrong, 0);
  same("together", y);
}

// A shard_map that leaves one axis automatic.
TEST_P(Control, PartlyManual) {
  const auto f = jit(
      shard_map([](const Array& v, const Array& w) { return psum(matmul(v, w), "x"); },
                {.mesh = m(), .in_specs = {P("x"), P()}, .out_specs = {P()}, .axis_names = {"x"}}));
  same("product", f(array({8, 16}, 1, P("x", "y")), array({16, 12}, 2, P("y"))));
}

TEST_P(Control, TrainingStep) {
  using Params = std::map<std::string, Array>;
  const auto model = [](const Params& p, const Array& x) {
    const Array hidden = gelu(matmul(x, p.at("w1")) + p.at("b1"));
    return matmul(hidden, p.at("w2")) + p.at("b2");
  };
  const auto loss = [&](const Params& p, const Array& x, const Array& y) {
    return mean(square(model(p, x) - y));
  };
  Params params{{"w1", array({24, 64}, 1, P(None, "y")) * 0.2f},
                {"b1", array({64}, 2, P("y"))},
                {"w2", array({64, 10}, 3, P("y")) * 0.2f},
                {"b2", array({10}, 4, P())}};
  const auto optimizer = optim::adam(0.01);
  auto state = optimizer.init(params);
  const auto step = jit([&](const Params& p, const auto& s, const Array& x, const Array& y) {
    const auto [value, gradients] = value_and_grad(loss)(p, x, y);
    const auto [updates, next] = optimizer.update(gradients, s, p);
    return std::tuple(value, optim::apply_updates(p, updates), next);
  });
  for (int i = 0; i < 4; ++i) {
    const auto [value, next, s] =
        step(params, state, array({32, 24}, 10 + static_cast<uint64_t>(i), P("x")),
             array({32, 10}, 20 + static_cast<uint64_t>(i), P("x")));
    params = next;
    state = s;
    same(fmt::format("loss {}", i), value);
  }
  for (const auto& [name, value] : params) same(name, value);
}

// Functions of the host get whole arrays, or the shards that the process has.
TEST_P(Control, FunctionsOfTheHost) {
  const auto twice = [](const Array& v) {
    std::vector<float> values = to_vector<float>(v);
    for (float& value : values) value *= 2;
    return from_host(values, v.shape());
  };
  const Array x = array({16, 8}, 1, P(joint("x", "y")));
  same("whole", jit([&](const Array& v) { return v + pure_callback(twice, v, v + 1.0f); })(x));
  same("shards",
       jit(shard_map([&](const Array& v) { return psum(pure_callback(twice, v, v), "x"); },
                     rows()))(x));
  // Calls keep their order in every process.
  const auto trips = std::make_shared<std::vector<int>>();
  const auto record = [=](const Array& i) {
    trips->push_back(i.item<int>());
    return std::tuple<>();
  };
  same("loop", jit([&](const Array& v) {
         return fori_loop(
             0, 4,
             [&](const Array& i, const Array& c) {
               io_callback(record, std::tuple<>(), {.ordered = true}, i);
               return c * 0.5f + sum(c);
             },
             v);
       })(x));
  EXPECT_THAT(*trips, testing::ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace tessera::control_test
