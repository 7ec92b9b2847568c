// Compares MultiHeadAttention with flax.nnx (golden/make_modules.py).
#include "../nn/cases.h"
#include "tessera/compile/jit.h"
#include "tessera/nnx/multi_head_attention.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::attention_test {
namespace {

using nnx::AttentionInputs;
using nnx::MultiHeadAttention;
using test::array_of;
using test::error_of;
using test::expect_parameters;
using test::expect_result;
using ::testing::HasSubstr;

const golden::Json& find(const std::string& name) { return test::find_module({"nnx"}, name); }
std::vector<Array> inputs_of(const golden::Json& c) {
  std::vector<Array> out;
  for (const golden::Json& x : c["inputs"]) out.push_back(array_of(x));
  return out;
}
// Returns the parameters of the module, without its stream and cache.
std::vector<Array> parameters_of(const MultiHeadAttention& m) {
  return nnx::internal::parameters(m);
}

TEST(Attention, IsFlaxs) {
  const std::map<std::string, std::pair<int64_t, nnx::AttentionOptions>> cases{
      {"attention", {2, {}}},
      {"attention_features", {3, {.qkv_features = 6, .out_features = 5, .in_kv_features = 6}}},
      {"attention_grouped", {4, {.num_kv_heads = 2}}},
      {"attention_normalized", {2, {.use_bias = false, .normalize_qk = true}}},
      {"attention_mask", {2, {}}}};
  for (const auto& [name, call] : cases) {
    SCOPED_TRACE(name);
    const golden::Json& c = find(name);
    const MultiHeadAttention m(call.first, 8, nnx::Rngs(7), call.second);
    expect_parameters(parameters_of(m), c["params"]);
    const std::vector<Array> x = inputs_of(c);
    AttentionInputs in{x[0]};
    if (x.size() > 1) in.key = x[1];
    if (x.size() > 3) in = {x[0], x[1], x[2], x[3], true};
    expect_result(m(in), c["out"], 4e-6);
    expect_result(jit([&](const MultiHeadAttention& a, const Array& q) {
                    AttentionInputs same = in;
                    same.query = q;
                    return a(same);
                  })(m, x[0]),
                  c["out"], 4e-6);
  }
}

TEST(Attention, DropsOutAsFlax) {
  const std::map<std::string, nnx::AttentionOptions> cases{
      {"attention_dropout", {.dropout_rate = 0.5}},
      {"attention_dropout_each",
       {.num_kv_heads = 1, .dropout_rate = 0.5, .broadcast_dropout = false}}};
  for (const auto& [name, options] : cases) {
    SCOPED_TRACE(name);
    const golden::Json& c = find(name);
    MultiHeadAttention m(2, 8, nnx::Rngs(7), options);
    expect_parameters(parameters_of(m), c["params"]);
    const Array x = inputs_of(c)[0];
    EXPECT_THAT(error_of([&] { std::as_const(m)(x); }), HasSubstr("may change, in training"));
    expect_result(m(x), c["train"][0], 4e-6);
    expect_result(m(x), c["train"][1], 4e-6);
    nnx::eval(m);
    expect_result(std::as_const(m)(x), c["out"], 4e-6);
  }
}

TEST(Attention, DecodesAsFlax) {
  const golden::Json& c = find("attention_decode");
  MultiHeadAttention m(2, 8, nnx::Rngs(7), {.decode = true});
  expect_parameters(parameters_of(m), c["params"]);
  const Array x = inputs_of(c)[0];
  const auto position = [&](int64_t i) { return slice_in_dim(x, i, i + 1, 1); };
  EXPECT_THAT(error_of([&] { m(position(0)); }), HasSubstr("call init_cache(shape) first"));
  m.init_cache(x.shape());
  EXPECT_THAT(error_of([&] { m(x); }), HasSubstr("expected one position at a time"));
  const auto step = jit([](MultiHeadAttention a, const Array& token) {
    const Array y = a(token);
    return std::pair(y, a);
  });
  std::vector<Array> out;
  for (int64_t i = 0; i < 3; ++i) {
    auto [y, next] = step(m, position(i));
    out.push_back(y);
    m = next;
  }
  expect_result(concatenate(out, 1), c["out"], 4e-6);
  EXPECT_THAT(error_of([&] { std::as_const(m)(position(0)); }),
              HasSubstr("may change, in decoding"));
}

TEST(Attention, GradientsAreOfParametersAlone) {
  MultiHeadAttention m(2, 8, nnx::Rngs(7), {.num_kv_heads = 1, .dropout_rate = 0.5});
  const auto loss = [](MultiHeadAttention a, const Array& x) {
    const Array y = sum(square(a(x)));
    return std::pair(y, a);
  };
  const auto [value, gradients] = nnx::value_and_grad(loss)(m, ones({1, 3, 8}));
  EXPECT_EQ(value.second.rngs->count.item<int>(), 1);
  EXPECT_GT(sum(square(gradients.key.kernel)).item<float>(), 0);
  EXPECT_EQ(gradients.rngs->count.item<int>(), 0);
}

TEST(Attention, Errors) {
  EXPECT_THAT(error_of([] { MultiHeadAttention(3, 8, nnx::Rngs(0)); }),
              HasSubstr("a number of heads that divides the 8 features, got 3"));
  EXPECT_THAT(error_of([] { MultiHeadAttention(4, 8, nnx::Rngs(0), {.num_kv_heads = 3}); }),
              HasSubstr("heads that divides the 4 heads, got 3"));
  MultiHeadAttention m(2, 8, nnx::Rngs(0));
  EXPECT_THAT(error_of([&] { m(ones({3, 4})); }), HasSubstr("a query of (..., length, 8)"));
  EXPECT_THAT(error_of([&] {
                m({ones({3, 8}), ones({3, 7})});
              }),
              HasSubstr("a key of (..., length, 8)"));
  EXPECT_THAT(error_of([&] {
                m({.query = ones({3, 8}), .value = ones({3, 8})});
              }),
              HasSubstr("expected a key where there is a value"));
  EXPECT_THAT(error_of([&] { m.init_cache({8}); }), HasSubstr("(batch..., length, features)"));
}

}  // namespace
}  // namespace tessera::attention_test
