// Compares dot_product_attention with jax.nn (golden/make_modules.py).
#include "tessera/numpy/attention.h"

#include "../golden/golden.h"
#include "run.h"
#include "tessera/compile/grad.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"

namespace tessera::attention_test {
namespace {

using ::testing::HasSubstr;

DotProductAttentionOptions options_of(const std::string& name, const std::vector<Array>& a) {
  if (name == "plain" || name == "no_batch") return {};
  if (name == "causal") return {.is_causal = true};
  if (name == "grouped") return {.scale = 0.3};
  if (name == "bias_mask") return {.bias = a[3], .mask = a[4]};
  if (name == "grouped_bias") return {.bias = a[3], .mask = a[4], .is_causal = true};
  if (name == "lengths") return {.query_seq_lengths = a[3], .key_value_seq_lengths = a[4]};
  if (name == "window") return {.local_window_size = std::pair(2, 1)};
  TESSERA_CHECK(false, "no call {}", name);
}

TEST(Attention, IsJaxs) {
  const golden::Topic topic("modules");
  int n = 0;
  for (const golden::Json& c : topic["attention"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    const auto f = [&](const std::vector<Array>& a) {
      return std::vector<Array>{dot_product_attention(a[0], a[1], a[2], options_of(name, a))};
    };
    const std::vector<Literal> inputs = topic.arrays(c["inputs"]);
    test::expect_close(test::run_eagerly(f, inputs)[0], topic.array(c["out"]), 2e-6, 1e-6);
    test::expect_close(test::run_traced(f, inputs)[0], topic.array(c["out"]), 2e-6, 1e-6);
    ++n;
  }
  EXPECT_EQ(n, 8);
}

TEST(Attention, HalvesComeBackAsHalves) {
  const Array x = ones({1, 2, 2, 4}, bfloat16);
  EXPECT_EQ(dot_product_attention(x, x, x).dtype(), bfloat16);
}

// Compares the derivative by the query with finite differences.
TEST(Attention, HasADerivative) {
  const golden::Topic topic("modules");
  const std::vector<Literal> in = topic.arrays(topic["attention"][2]["inputs"]);
  const Array q(in[0]), k(in[1]), v(in[2]);
  const auto f = [&](const Array& x) {
    return sum(square(dot_product_attention(x, k, v, {.is_causal = true})));
  };
  const Array g = grad(f)(q), direction = sin(q * 5);
  const double h = 1e-2, expected = (f(q + h * direction).item<double>() -
                                     f(q - h * direction).item<double>()) /
                                    (2 * h);
  EXPECT_NEAR(sum(g * direction).item<double>(), expected, 2e-3 * std::abs(expected) + 1e-3);
}

TEST(Attention, MisfitsAreErrors) {
  const Array q = ones({2, 5, 4, 3}), k = ones({2, 6, 4, 3});
  const auto error = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error([&] {
                dot_product_attention(q, ones({2, 6, 4, 2}), k);
              }),
              HasSubstr("float32[2,6,4,2]"));
  EXPECT_THAT(error([&] {
                const Array three = ones({2, 6, 3, 3});
                dot_product_attention(q, three, three);
              }),
              HasSubstr("multiple of the key's 3 heads"));
  EXPECT_THAT(error([&] { dot_product_attention(q, astype(k, float16), k); }),
              HasSubstr("one floating-point dtype"));
  EXPECT_THAT(error([&] { dot_product_attention(q, k, k, {.mask = k}); }), HasSubstr("bool mask"));
  EXPECT_THAT(error([&] {
                dot_product_attention(q, k, k, {.bias = ones({5, 5})});
              }),
              HasSubstr("broadcast"));
  EXPECT_THAT(error([&] {
                dot_product_attention(q, k, k, {.query_seq_lengths = array({1, 2, 3})});
              }),
              HasSubstr("for each of a batch of 2"));
}

}  // namespace
}  // namespace tessera::attention_test
