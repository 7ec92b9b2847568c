// Clipped gradients inside a shard_map: each device clips its own examples if the loss is its own,
// and shared examples if the loss is reduced over devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/privacy/materialised.h"

namespace tessera::privacy::clipped_shard_map_test {
namespace {

using Pair = std::pair<Array, Array>;

const std::optional<NormWay> kMethods[] = {std::nullopt, NormWay::kFactors, NormWay::kTiles,
                                           NormWay::kKeep};
constexpr double kClip = 0.3;

class ClippedShardMap : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { initialize({.devices = "cpu:8"}); }
  static Array noise(uint64_t seed, const Shape& shape) {
    return random::normal(random::key(seed), shape);
  }
  static ClipOptions options(std::optional<NormWay> method,
                             std::optional<int64_t> microbatch = {}) {
    return {.l2_clip_norm = kClip,
            .batch_argnums = {1},
            .microbatch_size = microbatch,
            .norm_way = method};
  }

  const Mesh mesh = make_mesh({2, 4}, {"data", "model"});
  const Array x = noise(0, {8, 3, 4});  // examples, tokens, features
};

// A loss of two layers, w.first and w.second.
Array two_layers(const Pair& w, const Array& x) {
  return mean(square(matmul(tanh(matmul(x, w.first)), w.second)));
}

// No argument varies over this axis, but each device has a loss of its own because of a captured
// array.
TEST_F(ClippedShardMap, CapturedArraysThatVary) {
  const Pair w(noise(1, {4, 5}), noise(2, {5, 5}));
  const Array factors = array({1.f, 2.f, .5f, .1f});
  const auto on_devices = [&](const auto& clipped) {
    return jit(shard_map(
        [=](const Pair& w, const Array& x, const Array& factor) {
          const auto loss = [=](const Pair& w, const Array& x) {
            return sum(factor) * two_layers(w, x);
          };
          const Pair out = clipped(loss, w, x);
          return Pair(expand_dims(out.first, {0, 1}), expand_dims(out.second, {0, 1}));
        },
        {.mesh = mesh,
         .in_specs = {P(), P("data"), P("model")},
         .out_specs = {P("data", "model")}}))(w, x, factors);
  };
  const Pair expected = on_devices([](const auto& loss, const Pair& w, const Array& x) {
    Pair out(zeros({4, 5}), zeros({5, 5}));
    for (int64_t b = 0; b < x.shape(0); ++b) {
      const Pair g = clip_pytree(grad(loss)(w, slice_in_dim(x, b, b + 1, 0)), kClip).first;
      out = Pair(out.first + g.first, out.second + g.second);
    }
    return out;
  });
  const Pair mapped = on_devices([](const auto& loss, const Pair& w, const Array& x) {
    const Pair g = vmap(grad(loss), {.in_axes = {None, 0}})(w, expand_dims(x, {1}));
    const Array norms =
        sqrt(sum(square(g.first), {.axis = {1, 2}}) + sum(square(g.second), {.axis = {1, 2}}));
    const Array scales = expand_dims(minimum(Array(1.0f), float(kClip) / norms), {1, 2});
    return Pair(sum(scales * g.first, {.axis = 0}), sum(scales * g.second, {.axis = 0}));
  });
  EXPECT_LT(helpers::difference(mapped, expected), 1e-5);
  for (std::optional<NormWay> method : kMethods)
    for (std::optional<int64_t> microbatch :
         {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
      const Pair got = on_devices([&](const auto& loss, const Pair& w, const Array& x) {
        return clipped_grad(loss, options(method, microbatch))(w, x);
      });
      EXPECT_LT(helpers::difference(got, expected), 1e-5);
    }
}

// Tokens are sharded over an axis, and the loss is averaged over it: an example is on several
// devices.
TEST_F(ClippedShardMap, ExamplesThatDevicesShare) {
  const Pair w(noise(1, {4, 5}), noise(2, {5, 5}));
  const Array tokens = noise(3, {8, 12, 4});
  const auto part = [](const Pair& w, const Array& x) { return pmean(two_layers(w, x), "model"); };
  const Pair expected = clipped_grad(two_layers, options({}))(w, tokens);
  for (std::optional<NormWay> method : kMethods)
    for (std::optional<int64_t> microbatch :
         {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
      ClipOptions of = options(method, microbatch);
      of.example_axes = {"model"};
      const auto step = jit(shard_map(
          [&](const Pair& w, const Array& x) { return psum(clipped_grad(part, of)(w, x), "data"); },
          {.mesh = mesh, .in_specs = {P(), P("data", "model")}, .out_specs = {P()}}));
      EXPECT_LT(helpers::difference(step(w, tokens), expected), 1e-5);
    }
}

// Collectives over examples that are each device's own, or that are not declared as shared, are
// refused.
TEST_F(ClippedShardMap, CollectivesOverExamplesAreRefused) {
  const Pair w(noise(1, {4, 5}), noise(2, {5, 5}));
  const auto run = [&](const auto& loss, const ClipOptions& of, bool check_vma = true) {
    return jit(shard_map(
        [&](const Pair& w, const Array& x) {
          const Pair sum = clipped_grad(loss, of)(w, x);
          return Pair(expand_dims(sum.first, {0}), expand_dims(sum.second, {0}));
        },
        {.mesh = mesh,
         .in_specs = {P(), P("data")},
         .out_specs = {P("data")},
         .check_vma = check_vma}))(w, x);
  };
  const auto mean_loss = [](const Pair& w, const Array& x) {
    return pmean(two_layers(w, x), "data");
  };
  const char* message =
      "[clipped_grad] expected a function of one example, got one with a collective (all_reduce) "
      "over \"data\", along which the batch is cut";
  tessera::test::expect_error([&] { run(mean_loss, options({})); }, message);
  tessera::test::expect_error([&] { run(mean_loss, options({}), false); }, message);
  // This holds for the functions that the loss calls, and for parts of what it computes.
  const auto inside = [](const Pair& w, const Array& x) {
    const auto normalized = jit([](const Array& x) { return x - pmean(x, "data"); });
    return two_layers(w, normalized(x));
  };
  tessera::test::expect_error([&] { run(inside, options({})); }, message);
  // Values that all devices have in common, and values that are returned next to the loss, may be
  // added up.
  const auto beside = [](const Pair& w, const Array& x) {
    return std::pair(two_layers(w, x), pmean(mean(x), "data"));
  };
  jit(shard_map(
      [&](const Pair& w, const Array& x) {
        return expand_dims(clipped_grad(beside, options({}))(w, x).first.first, {0});
      },
      {.mesh = mesh, .in_specs = {P(), P("data")}, .out_specs = {P("data")}}))(w, x);
}

// Hidden units are sharded over an axis, and a bias is not: the norm is that of all parts, and
// counts the bias once.
struct Cut {
  Array w, u, bias;
};
class WeightsThatDevicesShare : public ClippedShardMap {
 protected:
  static Array whole(const Cut& p, const Array& x) {
    return mean(square(matmul(tanh(matmul(x, p.w)), p.u) + p.bias));
  }
  static Array part(const Cut& p, const Array& x) {
    return mean(square(psum(matmul(tanh(matmul(x, p.w)), p.u), "model") + p.bias));
  }
  // Returns (sums, norms) of the devices.
  auto on_devices(const ClipOptions& options, const Array& x, const Array& padding) const {
    const auto step = [&](const Cut& p, const Array& x, const Array& padding) {
      const auto out = clipped_value_and_grad(part, options)(p, x, Padding{padding});
      return std::pair(psum(out.grads, "data"), out.grad_norms);
    };
    const PartitionSpec columns(None, "model"), rows("model", None);
    return jit(shard_map(
        [&](const Array& w, const Array& u, const Array& bias, const Array& x,
            const Array& padding) {
          const auto [sum, norms] = step({w, u, bias}, x, padding);
          return std::tuple(sum.w, sum.u, sum.bias, norms);
        },
        {.mesh = mesh,
         .in_specs = {columns, rows, P(), P("data"), P("data")},
         .out_specs = {columns, rows, P(), P("data")}}))(p.w, p.u, p.bias, x, padding);
  }
  void expect_equal(const ClipOptions& options, const Array& x, const Array& padding) const {
    const auto expected = clipped_value_and_grad(whole, options)(p, x, Padding{padding});
    const auto [w, u, bias, norms] = on_devices(options, x, padding);
    EXPECT_LT(helpers::difference(Cut{w, u, bias}, expected.grads), 1e-5);
    EXPECT_LT(helpers::difference(norms, expected.grad_norms), 1e-5);
  }
  const Cut p{noise(1, {4, 8}), noise(2, {8, 5}), noise(3, {5})};
  const Array none = zeros({8}, bool_);
};

TEST_F(WeightsThatDevicesShare, HaveNormsOfAllParts) {
  for (std::optional<NormWay> method : kMethods)
    for (std::optional<int64_t> microbatch :
         {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
      expect_equal(options(method, microbatch), x, none);
      expect_equal(options(method, microbatch), x, arange(8) >= 5);
    }
}

TEST_F(WeightsThatDevicesShare, HaveClipNormsOfTheirOwn) {
  ClipOptions of = options({});
  of.subtree_norms = {{"w", 0.1}, {"bias", 0.2}};
  expect_equal(of, x, none);
}

TEST_F(WeightsThatDevicesShare, UnderATransform) {
  const auto doubled = [](const Cut& g) {
    return tree::map([](const Array& x) { return 2.0f * x; }, g);
  };
  const auto expected = clipped_value_and_grad(whole, options({}), doubled)(p, x);
  const PartitionSpec columns(None, "model"), rows("model", None);
  const auto [w, u, bias, norms] = jit(shard_map(
      [&](const Array& w, const Array& u, const Array& bias, const Array& x) {
        const auto out = clipped_value_and_grad(part, options({}), doubled)(Cut{w, u, bias}, x);
        const Cut sum = psum(out.grads, "data");
        return std::tuple(sum.w, sum.u, sum.bias, out.grad_norms);
      },
      {.mesh = mesh,
       .in_specs = {columns, rows, P(), P("data")},
       .out_specs = {columns, rows, P(), P("data")}}))(p.w, p.u, p.bias, x);
  EXPECT_LT(helpers::difference(Cut{w, u, bias}, expected.grads), 1e-5);
  EXPECT_LT(helpers::difference(norms, expected.grad_norms), 1e-5);
}

// Examples that are not finite take the slow path on every device that has a part of them.
TEST_F(WeightsThatDevicesShare, NotFiniteExamples) {
  const Array bad = at(x)[{3, 1, 0}].set(std::numeric_limits<float>::infinity());
  for (NanSafe nan_safe : {NanSafe::kElement, NanSafe::kExample}) {
    ClipOptions of = options({});
    of.nan_safe = nan_safe;
    const auto expected = clipped_value_and_grad(whole, of)(p, bad, Padding{none});
    const auto [w, u, bias, norms] = on_devices(of, bad, none);
    EXPECT_LT(helpers::difference(Cut{w, u, bias}, expected.grads), 1e-5);
  }
}

}  // namespace
}  // namespace tessera::privacy::clipped_shard_map_test
