// Compares modules, streams and the optimizer with flax.nnx (golden/make_modules.py).
#include <cmath>

#include "../nn/cases.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/shard_map.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/nnx/modules.h"
#include "tessera/nnx/optimizer.h"
#include "tessera/numpy/collectives.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/reduce.h"
#include "tessera/optim/optim.h"

namespace tessera::nnx_test {
namespace {

using tessera::test::array_of;
using tessera::test::error_of;
using tessera::test::expect_close;
using tessera::test::expect_parameter;
using tessera::test::expect_result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const golden::Json& find(const std::string& name) { return test::find_module({"nnx"}, name); }

TEST(Rngs, StreamsAreFlaxs) {
  std::vector<random::Key> keys;
  nnx::Rngs one(3);
  keys.push_back(one.params());
  keys.push_back(one.dropout());
  keys.push_back(one());
  nnx::Rngs two({{"default", 0}, {"params", 1}});
  keys.push_back(two.params());
  keys.push_back(two.dropout());
  keys.push_back(two.params());
  for (size_t i = 0; i < keys.size(); ++i)
    EXPECT_EQ(to_vector<uint32_t>(keys[i].data),
              test::modules()["keys"][i].get<std::vector<uint32_t>>());
  EXPECT_THAT(error_of([] {
                nnx::Rngs rngs({{"params", 0}});
                rngs.dropout();
              }),
              HasSubstr("expected a stream \"dropout\" or \"default\", got [params]"));
}

TEST(Rngs, PassThroughJit) {
  auto draw = jit([](nnx::Rngs rngs) {
    const Array x = random::uniform(rngs(), {2});
    return std::pair(x, rngs);
  });
  nnx::Rngs rngs(0), same(0);
  for (int i = 0; i < 3; ++i) {
    auto [x, next] = draw(rngs);
    rngs = next;
    EXPECT_EQ(to_vector<float>(x), to_vector<float>(random::uniform(same(), {2})));
  }
}

TEST(Linear, IsFlaxs) {
  for (const auto& [name, options] :
       std::map<std::string, nnx::LinearOptions>{{"linear", {}},
                                                 {"linear_no_bias", {.use_bias = false}},
                                                 {"linear_bfloat16", {.dtype = bfloat16}}}) {
    SCOPED_TRACE(name);
    const golden::Json& c = find(name);
    const nnx::Linear m(4, 5, nnx::Rngs(7), options);
    expect_parameter(m.kernel, c["params"][0]);
    if (options.use_bias) expect_parameter(m.bias, c["params"][1]);
    const double tolerance = options.dtype ? 1e-2 : 1e-6;
    expect_result(m(array_of(c["inputs"][0])), c["out"], tolerance, tolerance);
  }
  EXPECT_THAT(error_of([] {
                nnx::Linear(4, 5, nnx::Rngs(7))(ones(Shape{2, 3}));
              }),
              HasSubstr("float32[4,5]"));
}

TEST(Linear, LayersTakeKeysInTurn) {
  nnx::Rngs rngs(11);
  const nnx::Linear first(4, 3, rngs), second(3, 2, rngs);
  const golden::Json& c = find("two_layers");
  expect_parameter(first.kernel, c["params"][0]);
  expect_parameter(first.bias, c["params"][1]);
  expect_parameter(second.kernel, c["params"][2]);
  expect_parameter(second.bias, c["params"][3]);
}

TEST(Conv, IsFlaxs) {
  using nnx::Padding;
  struct Case {
    Dims size;
    int64_t in, out;
    nnx::ConvOptions options;
  };
  const std::map<std::string, Case> cases{
      {"conv", {{3, 3}, 4, 3, {}}},
      {"conv_strides",
       {{3, 2}, 4, 3, {.strides = {2}, .padding = Padding::kValid, .use_bias = false}}},
      {"conv_padding", {{3, 2}, 4, 3, {.strides = {2, 1}, .padding = {{{1, 2}, {0, 1}}}}}},
      {"conv_groups", {{3, 3}, 4, 6, {.feature_group_count = 2}}},
      {"conv_dilated",
       {{3, 3},
        4,
        3,
        {.padding = {{{1, 2}, {3, 0}}}, .input_dilation = {1, 2}, .kernel_dilation = {2}}}},
      {"conv_circular", {{3, 2}, 4, 3, {.padding = Padding::kCircular}}},
      {"conv_reflect", {{3, 2}, 4, 3, {.padding = Padding::kReflect, .kernel_dilation = {1, 2}}}},
      {"conv_causal", {{3}, 4, 3, {.padding = Padding::kCausal, .kernel_dilation = {2}}}},
      {"conv_no_batch", {{3, 3}, 4, 3, {}}},
      {"conv_two_batches", {{3}, 4, 3, {}}},
      {"conv_3d", {{2, 2, 2}, 2, 3, {}}}};
  for (const auto& [name, k] : cases) {
    SCOPED_TRACE(name);
    const golden::Json& c = find(name);
    const nnx::Conv m(k.in, k.out, k.size, nnx::Rngs(7), k.options);
    expect_parameter(m.kernel, c["params"][0]);
    if (k.options.use_bias) expect_parameter(m.bias, c["params"][1]);
    const Array x = array_of(c["inputs"][0]);
    expect_result(m(x), c["out"]);
    expect_result(jit([](const nnx::Conv& m, const Array& x) { return m(x); })(m, x), c["out"]);
  }
}

// Compares derivatives with finite differences.
TEST(Conv, HasDerivatives) {
  const nnx::Conv conv(2, 4, {3, 2}, nnx::Rngs(0),
                       {.strides = {2, 1}, .kernel_dilation = {1, 2}, .feature_group_count = 2});
  const Array x = random::normal(random::key(1), {2, 6, 5, 2});
  const auto f = [](const nnx::Conv& m, const Array& x) { return sum(square(m(x))); };
  const auto [gm, gx] = grad<0, 1>(f)(conv, x);
  const double h = 1e-2;
  nnx::Conv up = conv, down = conv;
  const Array dk = sin(7 * conv.kernel), dx = cos(3 * x);
  up.kernel = up.kernel + h * dk;
  down.kernel = down.kernel - h * dk;
  const double expected =
      (f(up, x + h * dx).item<double>() - f(down, x - h * dx).item<double>()) / (2 * h);
  EXPECT_NEAR((sum(gm.kernel * dk) + sum(gx * dx)).item<double>(), expected,
              2e-3 * std::abs(expected));
}

TEST(Conv, MisfitsAreErrors) {
  const auto make = [](const nnx::ConvOptions& o, const Array& x) {
    return error_of([&] { nnx::Conv(4, 6, {3, 3}, nnx::Rngs(0), o)(x); });
  };
  const Array x = ones({1, 5, 5, 4});
  EXPECT_THAT(make({}, ones({1, 5, 5, 3})), HasSubstr("[nnx::Conv] expected inputs of 2 spatial"));
  EXPECT_THAT(make({.strides = {1, 2, 3}}, x), HasSubstr("strides"));
  EXPECT_THAT(make({.strides = {0}}, x), HasSubstr("positive strides"));
  EXPECT_THAT(make({.padding = nnx::Padding::kCausal}, x), HasSubstr("causal"));
  EXPECT_THAT(make({.padding = {{{1, 1}}}}, x), HasSubstr("padding of 2 dimensions"));
  EXPECT_THAT(make({.input_dilation = {2}}, x), HasSubstr("explicit padding"));
  EXPECT_THAT(make({.feature_group_count = 3}, x), HasSubstr("3 groups"));
  EXPECT_THAT(make({.padding = nnx::Padding::kValid}, ones({1, 2, 5, 4})),
              HasSubstr("no smaller than the kernel"));
}

TEST(Embed, IsFlaxs) {
  const golden::Json& c = find("embed");
  const nnx::Embed m(5, 3, nnx::Rngs(7));
  expect_parameter(m.embedding, c["params"][0]);
  const Array tokens = array_of(c["inputs"][0]);
  expect_result(m(tokens), c["out"]);
  expect_result(m(astype(tokens, int8)), c["out"]);
  expect_result(m.attend(ones({2, 3})), c["attend"][0]);
  expect_result(nnx::Embed(1, 3, nnx::Rngs(7))(tokens), find("embed_one")["out"]);
  EXPECT_THAT(error_of([&] { m(ones(3)); }), HasSubstr("expected integer tokens"));
  // The gradient of each row is the sum over the tokens that selected it.
  const auto f = [](const nnx::Embed& m, const Array& tokens) { return sum(m(tokens)); };
  EXPECT_EQ(to_vector<float>(grad(f)(m, array({{1, 1}, {-1, 0}})).embedding),
            (std::vector<float>{1, 1, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0, 1, 1, 1}));
}

TEST(LayerNorm, IsFlaxs) {
  expect_result(nnx::LayerNorm(4, nnx::Rngs(7))(array_of(find("layer_norm")["inputs"][0])),
                find("layer_norm")["out"]);
  expect_result(nnx::LayerNorm(4, nnx::Rngs(7), {.use_scale = false})(
                    array_of(find("layer_norm_no_scale")["inputs"][0])),
                find("layer_norm_no_scale")["out"]);
  EXPECT_THAT(error_of([] {
                nnx::LayerNorm(4, nnx::Rngs(7))(ones(Shape{2, 1}));
              }),
              HasSubstr("expected 4 features"));
}

TEST(BatchNorm, IsFlaxs) {
  for (const char* name : {"batch_norm", "batch_norm_axis"}) {
    SCOPED_TRACE(name);
    const golden::Json& c = find(name);
    const Array x = array_of(c["inputs"][0]);
    nnx::BatchNorm m = std::string(name) == "batch_norm"
                           ? nnx::BatchNorm(4, nnx::Rngs(7))
                           : nnx::BatchNorm(3, nnx::Rngs(7), {.axis = 1, .momentum = 0.9});
    expect_result(m(x), c["train"][0]);
    expect_result(m(x * 2), c["train"][1]);
    expect_result(m.mean.value, c["stats"][0]);
    expect_result(m.var.value, c["stats"][1]);
    EXPECT_THAT(error_of([&] { std::as_const(m)(x); }), HasSubstr("nnx::eval(model)"));
    nnx::eval(m);
    expect_result(std::as_const(m)(x), c["out"]);
    expect_result(m(x), c["out"]);
    nnx::train(m);
    EXPECT_FALSE(m.use_running_average);
  }
}

TEST(Dropout, IsFlaxs) {
  for (const char* name : {"dropout", "dropout_broadcast"}) {
    SCOPED_TRACE(name);
    const golden::Json& c = find(name);
    const Array x = array_of(c["inputs"][0]);
    const bool broadcast = std::string(name) == "dropout_broadcast";
    nnx::Dropout m(0.4, nnx::Rngs(5), {.broadcast_dims = broadcast ? Dims{0} : Dims{}});
    expect_result(m(x), c["train"][0]);
    expect_result(m(x), c["train"][1]);
    EXPECT_THAT(error_of([&] { std::as_const(m)(x); }), HasSubstr("nnx::eval(model)"));
    nnx::eval(m);
    expect_close(std::as_const(m)(x).to_host(), x.to_host(), 0, 0);
  }
  EXPECT_EQ(to_vector<float>(nnx::Dropout(1.0, nnx::Rngs(0))(ones(3))),
            (std::vector<float>{0, 0, 0}));
  EXPECT_THAT(error_of([] { nnx::Dropout(1.5, nnx::Rngs(0))(ones(3)); }), HasSubstr("1.5"));
}

// A model with all kinds of state.
struct Net {
  nnx::Linear first;
  nnx::BatchNorm norm;
  nnx::Dropout dropout;
  nnx::Linear second;

  explicit Net(nnx::Rngs rngs)
      : first(4, 8, rngs), norm(8, rngs), dropout(0.2, rngs), second(8, 1, rngs) {}
  Array operator()(const Array& x) { return second(dropout(relu(norm(first(x))))); }
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.first, self.norm, self.dropout, self.second);
  }
};

TEST(State, TrainingCarriesItAlong) {
  Net model{nnx::Rngs(0)};
  nnx::Optimizer optimizer(model, optim::adam(0.05));
  const Array x = random::normal(random::key(1), {32, 4});
  const Array y = sum(x, {.axis = -1, .keepdims = true});
  const auto loss_fn = [](Net model, const Array& x, const Array& y) {
    const Array loss = mean(square(model(x) - y));
    return std::pair(loss, model);
  };
  int traced = 0;
  auto step = jit([&](Net model, auto optimizer, const Array& x, const Array& y) {
    ++traced;
    auto [loss_and_model, grads] = nnx::value_and_grad(loss_fn)(model, x, y);
    model = loss_and_model.second;
    optimizer.update(model, grads);
    return std::tuple(model, optimizer, loss_and_model.first);
  });
  double first = 0, last = 0;
  const auto key = to_vector<uint32_t>(model.dropout.rngs.key.data);
  for (int i = 0; i < 60; ++i) {
    auto [m, o, loss] = step(model, optimizer, x, y);
    model = m;
    optimizer = o;
    last = loss.item<double>();
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.2 * first);
  EXPECT_EQ(traced, 1);
  EXPECT_EQ(optimizer.step.item<int>(), 60);
  EXPECT_EQ(model.dropout.rngs.count.item<int>(), 60);
  EXPECT_EQ(to_vector<uint32_t>(model.dropout.rngs.key.data), key);
  EXPECT_NE(model.norm.mean.value.to_host(), zeros(8).to_host());
  // In evaluation mode the state does not change, and the predictions are good.
  nnx::eval(model);
  EXPECT_LT(mean(square(model(x) - y)).item<double>(), 0.2 * first);
  EXPECT_EQ(model.dropout.rngs.count.item<int>(), 60);
}

TEST(State, GradientsAreOfParametersAlone) {
  Net model{nnx::Rngs(0)};
  const Array x = random::normal(random::key(1), {8, 4});
  const auto loss_fn = [](Net model, const Array& x) {
    const Array loss = mean(square(model(x)));
    return std::pair(loss, model);
  };
  const auto [grads, moved] = nnx::grad(loss_fn)(model, x);
  static_assert(std::is_same_v<std::decay_t<decltype(grads)>, Net>);
  EXPECT_NE(to_vector<float>(grads.norm.scale), std::vector<float>(8));
  EXPECT_EQ(to_vector<float>(grads.norm.mean.value), std::vector<float>(8));
  EXPECT_EQ(moved.dropout.rngs.count.item<int>(), 1);
  // The optimizer gets 6 parameters and no state.
  const nnx::Optimizer optimizer(model, optim::adam(0.1));
  EXPECT_EQ(std::get<0>(optimizer.opt_state).mu.paths,
            (std::vector<std::string>{".first.kernel", ".first.bias", ".norm.scale", ".norm.bias",
                                      ".second.kernel", ".second.bias"}));
}

// Data-parallel training in shard_map is training on the whole batch.
TEST(Optimizer, ShardMapEqualsOneDevice) {
  initialize({.devices = "cpu:8"});
  const Mesh mesh(create_device_mesh({8}), {"data"});
  const Array x = reshape(sin(arange(64.0f)), {16, 4}), y = reshape(cos(arange(32.0f)), {16, 2});
  const auto loss_fn = [](const nnx::Linear& m, const Array& x, const Array& y) {
    return mean(square(m(x) - y));
  };
  nnx::Linear model(4, 2, nnx::Rngs(3)), whole = model;
  nnx::Optimizer optimizer(model, optim::adam(0.1)), whole_optimizer = optimizer;
  auto step = jit(shard_map(
      [&](nnx::Linear model, auto optimizer, const Array& x, const Array& y) {
        auto [loss, grads] = value_and_grad(loss_fn)(model, x, y);
        grads = pmean(grads, "data");
        optimizer.update(model, grads);
        return std::tuple(model, optimizer, pmean(loss, "data"));
      },
      {.mesh = mesh,
       .in_specs = {P(), P(), P("data", None), P("data", None)},
       .out_specs = {P(), P(), P()}}));
  for (int i = 0; i < 5; ++i) {
    auto [m, o, loss] = step(model, optimizer, x, y);
    model = m;
    optimizer = o;
    auto [whole_loss, grads] = value_and_grad(loss_fn)(whole, x, y);
    whole_optimizer.update(whole, grads);
    EXPECT_NEAR(loss.template item<double>(), whole_loss.item<double>(), 1e-6);
  }
  expect_close(model.kernel.to_host(), whole.kernel.to_host(), 1e-5, 1e-6);
}

TEST(Optimizer, RefusesGradientsOfAnotherShape) {
  nnx::Linear model(4, 2, nnx::Rngs(0));
  const nnx::Linear other(3, 2, nnx::Rngs(0));
  nnx::Optimizer optimizer(model, optim::adam(0.1));
  EXPECT_THAT(error_of([&] { optimizer.update(model, other); }),
              ::testing::AllOf(HasSubstr("leaf .kernel"), HasSubstr("float32[4,2]")));
  nnx::Linear third = other;
  EXPECT_THAT(error_of([&] { optimizer.update(third, other); }), HasSubstr("leaf .kernel"));
}

}  // namespace
}  // namespace tessera::nnx_test
