// Mistakes in data-parallel training, and their errors: docs/optimizers.md and docs/modules.md.
#include <gmock/gmock.h>

#include <algorithm>

#include "../errors.h"
#include "tessera/tessera.h"

namespace tessera::pitfalls_test {

using namespace ir;

namespace {

using tessera::test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

Array loss_fn(const nnx::Linear& m, const Array& x, const Array& y) {
  return mean(square(m(x) - y));
}

class Pitfalls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { initialize({.devices = "cpu:8"}); }

  // Returns the bias after a step. `reduce` computes the gradients of the update from those of a
  // device.
  template <class Reduce>
  std::vector<float> bias_after_step(const Reduce& reduce) {
    nnx::Linear model(4, 2, nnx::Rngs(0));
    nnx::Optimizer optimizer(model, optim::sgd(0.1));
    auto step = jit(shard_map(
        [&](nnx::Linear model, auto optimizer, const Array& x, const Array& y) {
          auto [loss, grads] = value_and_grad(loss_fn)(model, x, y);
          optimizer.update(model, reduce(grads));
          return std::pair(model, optimizer);
        },
        {.mesh = mesh, .in_specs = {P(), P(), P("data"), P("data")}, .out_specs = {P(), P()}}));
    return to_vector<float>(step(model, optimizer, x, y).first.bias);
  }

  const Mesh mesh{devices(), {"data"}};
  const Array x = random::normal(random::key(0), {16, 4}), y = ones({16, 2});
};

const auto kVaries = AllOf(HasSubstr("expected result"), HasSubstr("the same on all devices"),
                           HasSubstr("which varies along it"));

TEST_F(Pitfalls, UpdatePerShardIsRefused) {
  EXPECT_THAT(error_of([&] { bias_after_step([](const nnx::Linear& g) { return g; }); }), kVaries);
}

TEST_F(Pitfalls, SumIsTheMeanTimesTheDevices) {
  nnx::Linear model(4, 2, nnx::Rngs(0));
  nnx::Optimizer optimizer(model, optim::sgd(0.1));
  optimizer.update(model, grad(loss_fn)(model, x, y));
  const auto by_mean = bias_after_step([](const nnx::Linear& g) { return pmean(g, "data"); });
  const auto by_sum = bias_after_step([](const nnx::Linear& g) { return psum(g, "data"); });
  const auto alone = to_vector<float>(model.bias);
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_NEAR(by_mean[i], alone[i], 1e-6);
    EXPECT_NEAR(by_sum[i], 8 * alone[i], 1e-5);
  }
}

TEST_F(Pitfalls, InitialisationPerShardIsRefused) {
  const auto make = [&](auto key_of) {
    return shard_map([=](const Array&) { return nnx::Linear(4, 2, nnx::Rngs(key_of())); },
                     {.mesh = mesh, .in_specs = {P("data")}, .out_specs = {P()}})(x);
  };
  EXPECT_THAT(
      error_of([&] { make([] { return random::fold_in(random::key(0), axis_index("data")); }); }),
      kVaries);
  EXPECT_EQ(to_vector<float>(make([] { return random::key(0); }).kernel),
            to_vector<float>(nnx::Linear(4, 2, nnx::Rngs(0)).kernel));
}

TEST_F(Pitfalls, UnevenSplit) {
  const Array ten = arange(10.0f);
  EXPECT_THAT(error_of([&] {
                shard_map([](const Array& x) { return pmean(mean(x), "data"); },
                          {.mesh = mesh, .in_specs = {P("data")}, .out_specs = {P()}})(ten);
              }),
              HasSubstr("expected dimension 0 of shape (10,) to be a multiple of 8"));
  const Array cut = device_put(ten, NamedSharding(mesh, P("data")));
  auto whole = jit([](const Array& x) { return mean(2 * x); });
  EXPECT_FLOAT_EQ(whole(cut).item<float>(), 9);
  EXPECT_THAT(whole.lower(cut).explain(), HasSubstr("padding"));
}

TEST_F(Pitfalls, BatchNormPerShardIsRefused) {
  const auto apply = [&](const std::string& axis) {
    return shard_map(
        [&](const Array& x) {
          nnx::BatchNorm norm(4, nnx::Rngs(0), {.axis_name = axis});
          norm(x);
          return norm;
        },
        {.mesh = mesh, .in_specs = {P("data")}, .out_specs = {P()}})(x);
  };
  EXPECT_THAT(error_of([&] { apply(""); }), kVaries);
  nnx::BatchNorm whole(4, nnx::Rngs(0));
  whole(x);
  const auto expected = to_vector<float>(whole.var.value),
             got = to_vector<float>(apply("data").var.value);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
}

TEST_F(Pitfalls, DropoutOfOneKeyDropsTheSameOfEveryShard) {
  const auto drop = [&](bool fold) {
    const Array out = shard_map(
        [=](const Array& x) {
          random::Key key = random::key(3);
          if (fold) key = random::fold_in(key, axis_index("data"));
          return linen::Dropout(0.5).apply(linen::None{}, x, linen::Train{.dropout = key});
        },
        {.mesh = mesh, .in_specs = {P("data")}, .out_specs = {P("data")}})(ones({8, 32}));
    const std::vector<float> rows = to_vector<float>(out);
    return std::equal(rows.begin(), rows.begin() + 32, rows.begin() + 32);
  };
  EXPECT_TRUE(drop(false));
  EXPECT_FALSE(drop(true));
}

TEST_F(Pitfalls, StreamsAreNotDifferentiated) {
  const nnx::Dropout dropout(0.5, nnx::Rngs(0));
  const auto loss = [](nnx::Dropout d, const Array& x) { return mean(d(x)); };
  EXPECT_THAT(error_of([&] { grad(loss)(dropout, x); }), HasSubstr("uint32"));
  EXPECT_EQ(nnx::grad(loss)(dropout, x).rngs.count.item<int>(), 0);
}

}  // namespace
}  // namespace tessera::pitfalls_test
