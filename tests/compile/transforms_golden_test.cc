// Compares derivatives and batching with JAX, for the functions of tests/golden/make_transforms.py.
#include <cmath>
#include <functional>
#include <map>

#include "tests/compile/devices.h"
#include "tests/golden/golden.h"

namespace tessera::transforms_golden_test {
namespace {

using F = std::function<Array(const Array&, const Array&)>;

Array layer_norm(const Array& x, const Array& w) {
  const Array m = mean(x, {.axis = -1, .keepdims = true});
  const Array v = mean(square(x - m), {.axis = -1, .keepdims = true});
  return sum(sin(matmul((x - m) / sqrt(v + 1e-5), w)));
}

Array attention(const Array& x, const Array& w) {
  const Array q = matmul(x, w), k = matmul(x, w * w);
  const Array s = where(tril(ones({3, 3}, bool_)), matmul(q, transpose(k)) / 2, -1e30);
  return matmul(sum(matmul(softmax(s, -1), x), {.axis = 0}), index_in_dim(w, 0, 1, false));
}

Array rnn(const Array& x, const Array& w) {
  const auto step = [&](const Array& h, const Array& v) {
    const Array n = tanh(v + matmul(matmul(h, w), transpose(w)));
    return std::pair(n, sum(n * n));
  };
  const auto [h, ys] = scan(step, zeros({4}, float64), x);
  return sum(h) + sum(ys * ys);
}

Array branches(const Array& x, const Array& w) {
  return cond(
      index_in_dim(index_in_dim(x, 0, 0, false), 0, 0, false) > 0,
      [](const Array& a, const Array& b) { return sum(sin(matmul(a, b))); },
      [](const Array& a, const Array& b) { return sum(cos(matmul(a, b))); }, x, w);
}

const std::map<std::string, F>& functions() {
  static const std::map<std::string, F> all{
      {"matmul", [](const Array& x, const Array& w) { return sum(sin(matmul(x, w))); }},
      {"mlp", [](const Array& x,
                 const Array& w) { return sum(square(matmul(relu(matmul(x, w)), transpose(w)))); }},
      {"gelu", [](const Array& x, const Array& w) { return sum(gelu(matmul(x, w))); }},
      {"silu", [](const Array& x, const Array& w) { return sum(matmul(silu(x), w)); }},
      {"softplus", [](const Array& x, const Array& w) { return sum(softplus(matmul(x, w))); }},
      {"cross_entropy",
       [](const Array& x, const Array& w) {
         return -mean(sum(log_softmax(matmul(x, w)) * eye(3, {}, 0, float64), {.axis = -1}));
       }},
      {"logsumexp",
       [](const Array& x, const Array& w) {
         return sum(matmul(logsumexp(x, {.axis = 1}), matmul(x, w)));
       }},
      {"elementary",
       [](const Array& x, const Array& w) {
         return sum(exp(sin(x)) * arctan(transpose(w)) + cosh(x) * log1p(square(transpose(w))));
       }},
      {"erf",
       [](const Array& x, const Array& w) {
         return sum(erf(x) * erf(transpose(w))) + sum(erf_inv(tanh(x) / 2));
       }},
      {"powers",
       [](const Array& x, const Array& w) {
         return sum(power(abs(x) + 1, transpose(w))) + sum(x * x * x);
       }},
      {"two_arguments",
       [](const Array& x, const Array& w) {
         const Array v = transpose(w);
         return sum(arctan2(x, v)) + sum(logaddexp(x, v)) + sum(hypot(x, v));
       }},
      {"extrema",
       [](const Array& x, const Array& w) {
         const Array v = transpose(w);
         return max(x) * min(w) + sum(maximum(x, v) * clip(v, -.5, .5));
       }},
      {"product",
       [](const Array& x, const Array& w) {
         return sum(prod(x, {.axis = 0})) + sum(prod(w, {.axis = 1}));
       }},
      {"variance",
       [](const Array& x, const Array& w) {
         return var(x) + sum(std(w, {.axis = 0})) + sum(square(mean(x, {.axis = 1})));
       }},
      {"shapes",
       [](const Array& x, const Array& w) {
         return sum(square(concatenate({transpose(x), flip(w, 1)}, 1))) +
                sum(roll(x, 1, 0) * pad(slice_in_dim(transpose(w), 1, 4, 1), {{0, 0}, {1, 0}}));
       }},
      {"slices",
       [](const Array& x, const Array& w) {
         return sum(matmul(dynamic_slice(x, {1, 1}, {2, 2}), slice_in_dim(w, 2, 4))) *
                sum(slice_in_dim(tile(w, {2, 1}), 3, 5));
       }},
      {"updates",
       [](const Array& x, const Array& w) {
         return sum(square(dynamic_update_slice(x, slice(w, {0, 0}, {2, 2}) * 2, {0, 1})));
       }},
      {"einsum",
       [](const Array& x, const Array& w) {
         return einsum("ij,jk,il->", {x, w, sin(x)});
       }},
      {"guarded",
       [](const Array& x, const Array& w) {
         return sum(matmul(where(x > 0, sqrt(where(x > 0, x, 1)), x * 2), w));
       }},
      {"stopped",
       [](const Array& x, const Array& w) { return sum(x * stop_gradient(x)) * sum(w); }},
      {"checkpointed",
       [](const Array& x, const Array& w) {
         const auto f = [](const Array& a, const Array& b) { return tanh(matmul(sin(a), b)); };
         return sum(square(checkpoint(f)(x, w)));
       }},
      {"layer_norm", layer_norm},
      {"attention", attention},
      {"rnn", rnn},
      {"nested",
       [](const Array& x, const Array& w) {
         const auto inner = grad([](const Array& v) { return sum(sin(v) * v); });
         return sum(matmul(inner(x), w));
       }},
      {"branches", branches},
      {"power",
       [](const Array& x, const Array& w) {
         return sum(fori_loop(
             0, 3, [&](const Array&, const Array& c) { return tanh(matmul(matmul(c, w), x)); }, x));
       }},
      {"norms",
       [](const Array& x, const Array& w) {
         return sum(x / sqrt(sum(x * x, {.axis = -1, .keepdims = true}))) + sqrt(sum(w * w));
       }},
  };
  return all;
}

class TransformsGolden : public DevicesTest {
 protected:
  void SetUp() override { enable_x64(true); }
  void TearDown() override { enable_x64(false); }
};

void expect_close(const Array& got, const Literal& want) {
  ASSERT_EQ(got.shape(), want.shape());
  const Literal host = got.to_host();
  ASSERT_EQ(host.dtype(), float64);
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double a = host.data<double>()[i], b = want.data<double>()[i];
    EXPECT_LE(std::abs(a - b), 1e-9 * (1 + std::abs(b)))
        << "element " << i << ": " << a << ", JAX " << b;
  }
}

TEST_F(TransformsGolden, EveryFunction) {
  const golden::Topic topic("transforms");
  const Array x(topic.array(topic["x"])), w(topic.array(topic["w"])), xs(topic.array(topic["xs"]));
  size_t tested = 0;
  for (const golden::Json& c : topic["functions"]) {
    const std::string name = c["name"];
    SCOPED_TRACE(name);
    const auto found = functions().find(name);
    ASSERT_NE(found, functions().end());
    const F& f = found->second;
    expect_close(jit(f)(x, w), topic.array(c["value"]));
    const auto [gx, gw] = jit(grad<0, 1>(f))(x, w);
    expect_close(gx, topic.array(c["grad_x"]));
    expect_close(gw, topic.array(c["grad_w"]));
    const auto along = [&](const Array& v) { return sum(grad(f)(v, w) * sin(v)); };
    expect_close(jit(grad(along))(x), topic.array(c["second"]));
    expect_close(jvp(f, std::tuple(x, w), std::tuple(cos(x), w)).second, topic.array(c["tangent"]));
    expect_close(jit(vmap(grad(f), {.in_axes = {0, None}}))(xs, w), topic.array(c["mapped"]));
    ++tested;
  }
  EXPECT_EQ(tested, functions().size());
}

}  // namespace
}  // namespace tessera::transforms_golden_test
