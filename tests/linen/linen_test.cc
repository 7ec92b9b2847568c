// Compares modules with flax.linen (golden/make_modules.py).
#include "../nn/cases.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/shard_map.h"
#include "tessera/linen/layers.h"
#include "tessera/linen/sequential.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/reduce.h"
#include "tessera/optim/optim.h"

namespace tessera::linen_test {
namespace {

using tessera::test::array_of;
using tessera::test::error_of;
using tessera::test::expect_close;
using tessera::test::expect_parameters;
using ::testing::HasSubstr;

const golden::Json& find(const std::string& name) {
  return test::find_module({"linen", "conv_transposes"}, name);
}
// The tolerance is 1e-6, except for rows with a mean far above their deviation: there E[x^2] -
// E[x]^2, which flax computes too, loses digits.
void expect_result(const Array& got, const golden::Json& expected) {
  test::expect_result(got, expected, 4e-6);
}
template <class M, class X>
void check(const char* name, const M& model, const X& x) {
  SCOPED_TRACE(name);
  const golden::Json& c = find(name);
  const auto variables = model.init(random::key(3), x);
  if constexpr (std::is_empty_v<typename M::Stats>) {
    expect_parameters(variables, c["params"]);
  } else {
    expect_parameters(variables.params, c["params"]);
  }
  expect_result(model.apply(variables, x), c["out"]);
  expect_result(jit([&](const auto& v) { return model.apply(v, x); })(variables), c["out"]);
  if (!c.contains("train")) return;
  const linen::Train train{.dropout = random::key(9)};
  if constexpr (std::is_empty_v<typename M::Stats>) {
    expect_result(model.apply(variables, x, train), c["train"]);
  } else {
    const auto [y, stats] = model.apply(variables, x, train);
    expect_result(y, c["train"]);
    const std::vector<Array> leaves = tree::leaves(stats);
    ASSERT_EQ(leaves.size(), c["stats"].size());
    for (size_t i = 0; i < leaves.size(); ++i) expect_result(leaves[i], c["stats"][i]);
  }
}
Array input(const char* name) { return array_of(find(name)["inputs"][0]); }
// The examples of FIPS 180-4, by their first words.
TEST(Scope, HashesAsSha1) {
  EXPECT_EQ(linen::internal::sha1_word(""), 0xda39a3eeu);
  EXPECT_EQ(linen::internal::sha1_word("abc"), 0xa9993e36u);
  EXPECT_EQ(linen::internal::sha1_word("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            0x84983e44u);
  EXPECT_EQ(linen::internal::sha1_word(std::string(1000000, 'a')), 0x34aa973cu);
}

TEST(Linen, DenseIsFlaxs) {
  check("dense", linen::Dense(5), input("dense"));
  check("dense_no_bias", linen::Dense(5, {.use_bias = false}), input("dense_no_bias"));
  check("dense_he",
        linen::Dense(
            5, {.kernel_init = initializers::he_uniform(), .bias_init = initializers::normal(1.0)}),
        input("dense_he"));
}
TEST(Linen, ConvIsFlaxs) {
  using linen::Conv, linen::Padding;
  check("conv", Conv(3, {3, 3}), input("conv"));
  check("conv_strides",
        Conv(3, {3, 2}, {.strides = {2}, .padding = Padding::kValid, .use_bias = false}),
        input("conv_strides"));
  check("conv_groups", Conv(6, {3, 3}, {.feature_group_count = 2}), input("conv_groups"));
  check("conv_causal", Conv(3, {3}, {.padding = Padding::kCausal, .kernel_dilation = {2}}),
        input("conv_causal"));
}
TEST(Linen, ConvTransposeIsFlaxs) {
  using linen::ConvTranspose, linen::Padding;
  check("conv_transpose", ConvTranspose(3, {3, 2}, {.strides = {2, 3}}), input("conv_transpose"));
  check("conv_transpose_valid",
        ConvTranspose(3, {3}, {.strides = {2}, .padding = Padding::kValid, .use_bias = false}),
        input("conv_transpose_valid"));
  check("conv_transpose_padding",
        ConvTranspose(3, {3, 2},
                      {.strides = {2}, .padding = {{{2, 1}, {0, 1}}}, .kernel_dilation = {1, 2}}),
        input("conv_transpose_padding"));
  check("conv_transpose_of_forward",
        ConvTranspose(3, {3, 2}, {.strides = {2}, .transpose_kernel = true}),
        input("conv_transpose_of_forward"));
  check("conv_transpose_of_forward_padding",
        ConvTranspose(3, {3, 2}, {.padding = {{{2, 1}, {0, 1}}}, .transpose_kernel = true}),
        input("conv_transpose_of_forward_padding"));
}
TEST(Linen, EmbedIsFlaxs) {
  const linen::Embed model(5, 3);
  check("embed", model, input("embed"));
  const auto params = model.init(random::key(3), input("embed"));
  const Array x = ones({2, 3});
  expect_close(model.attend(params, x).to_host(), matmul(x, transpose(params.embedding)).to_host(),
               1e-6, 1e-6);
}
TEST(Linen, NormsAreFlaxs) {
  check("layer_norm", linen::LayerNorm(), input("layer_norm"));
  check("batch_norm", linen::BatchNorm(), input("batch_norm"));
}
TEST(Linen, SequentialIsFlaxs) {
  const linen::Sequential model(linen::Dense(6), relu, linen::LayerNorm(), linen::Dropout(0.3),
                                linen::Sequential(linen::Dense(5), linen::BatchNorm()),
                                linen::Dropout(0.3));
  check("sequential", model, input("sequential"));
  // Parameters can be made from shapes alone.
  const auto variables = model.init(random::key(3), abstract_array({3, 4}, float32));
  expect_parameters(variables.params, find("sequential")["params"]);
}
TEST(Linen, AttentionIsFlaxs) {
  check("attention", linen::MultiHeadAttention(2), input("attention"));
  check("attention_dropout", linen::MultiHeadAttention(2, {.dropout_rate = 0.5}),
        input("attention_dropout"));
  const golden::Json& c = find("attention_features");
  check("attention_features", linen::MultiHeadAttention(3, {.qkv_features = 6, .out_features = 5}),
        linen::AttentionInputs{array_of(c["inputs"][0]), array_of(c["inputs"][1])});
  const golden::Json& masked = find("attention_mask");
  const Array x = array_of(masked["inputs"][0]);
  const linen::MultiHeadAttention model(2);
  const auto params = model.init(random::key(3), x);
  for (const Array& mask : {array_of(masked["inputs"][1]), linen::causal_mask(3)})
    expect_result(model.apply(params, linen::AttentionInputs{.query = x, .mask = mask}),
                  masked["out"]);
}

TEST(Linen, TrainsByItsParameters) {
  const linen::Sequential model(linen::Dense(16), linen::BatchNorm(), relu, linen::Dropout(0.1),
                                linen::Dense(1));
  const Array x = random::normal(random::key(1), {64, 4});
  const Array y = sum(x, {.axis = -1, .keepdims = true});
  auto variables = model.init(random::key(0), x);
  const auto tx = optim::adam(0.05);
  auto state = tx.init(variables.params);
  auto step = jit([&](auto variables, auto state, const random::Key& key) {
    const auto loss_fn = [&](const auto& params) {
      auto [out, stats] =
          model.apply(linen::Variables{params, variables.batch_stats}, x, linen::Train{key});
      return std::pair(mean(square(out - y)), stats);
    };
    auto [loss_and_stats, grads] = value_and_grad(loss_fn)(variables.params);
    auto [updates, next] = tx.update(grads, state, variables.params);
    variables = {optim::apply_updates(variables.params, updates), loss_and_stats.second};
    return std::tuple(variables, next, loss_and_stats.first);
  });
  double first = 0;
  for (int i = 0; i < 60; ++i) {
    auto [v, s, loss] = step(variables, state, random::fold_in(random::key(2), i));
    variables = v;
    state = s;
    if (i == 0) first = loss.item<double>();
  }
  EXPECT_LT(mean(square(model.apply(variables, x) - y)).item<double>(), 0.2 * first);
}

// In a shard_map, the statistics are those of the whole batch if the module has an axis_name.
TEST(Linen, BatchNormOverDevices) {
  initialize({.devices = "cpu:8"});
  const Mesh mesh(create_device_mesh({8}), {"data"});
  const Array x = random::normal(random::key(1), {16, 4});
  const linen::BatchNorm whole, split({.axis_name = "data"});
  const auto variables = whole.init(random::key(0), x);
  const auto [y, stats] = whole.apply(variables, x, linen::Train{});
  const auto [z, split_stats] = jit(shard_map(
      [&](const auto& variables, const Array& x) { return split.apply(variables, x, {}); },
      {.mesh = mesh, .in_specs = {P(), P("data")}, .out_specs = {P("data"), P()}}))(variables, x);
  expect_close(z.to_host(), y.to_host(), 1e-5, 1e-5);
  expect_close(split_stats.var.to_host(), stats.var.to_host(), 1e-6, 1e-6);
}

TEST(Linen, ErrorsSayWhatWasExpected) {
  const Array x = ones(Shape{2, 4});
  const linen::Dense dense(3);
  const auto params = dense.init(random::key(0), x);
  EXPECT_THAT(error_of([&] { dense.apply(params, ones(Shape{2, 5})); }), HasSubstr("float32[4,3]"));
  EXPECT_THAT(error_of([&] { dense.init(random::key(0), array(1.0)); }),
              HasSubstr("at least 1 dimension"));
  EXPECT_THAT(error_of([&] { linen::Dropout(0.5).apply(linen::None{}, x, linen::Train{}); }),
              HasSubstr(".dropout = key"));
  EXPECT_THAT(error_of([&] { linen::MultiHeadAttention(3).init(random::key(0), x); }),
              HasSubstr("divides the 4 features"));
  const auto up = [](const linen::ConvTransposeOptions& o, const Array& v) {
    const linen::ConvTranspose module(3, {3}, o);
    return error_of([&] { module.apply(module.init(random::key(0), ones(Shape{1, 5, 4})), v); });
  };
  const Array line = ones(Shape{1, 5, 4});
  EXPECT_THAT(up({}, ones(Shape{1, 5, 3})),
              HasSubstr("[linen::ConvTranspose] expected inputs of 1 spatial dimensions and 4"));
  EXPECT_THAT(up({.strides = {1, 2}}, line), HasSubstr("strides of one extent or 1"));
  EXPECT_THAT(up({.padding = linen::Padding::kCircular}, line),
              HasSubstr("expected padding kSame, kValid or widths"));
  EXPECT_THAT(up({.padding = {{{1, 1}, {1, 1}}}}, line),
              HasSubstr("padding of 1 dimensions, got 2"));
  EXPECT_THAT(error_of([&] {
                const linen::ConvTranspose deep(1, {1, 1, 1, 1});
                const Array v = ones(Shape{1, 1, 1, 1, 1, 1});
                deep.apply(deep.init(random::key(0), v), v);
              }),
              HasSubstr("expected a kernel of 1 to 3 dimensions, got 4"));
  const linen::BatchNorm norm;
  const auto variables = norm.init(random::key(0), x);
  EXPECT_THAT(error_of([&] {
                norm.apply(variables, ones(Shape{2, 5}));
              }),
              HasSubstr("expected 4 features"));
}

}  // namespace
}  // namespace tessera::linen_test
