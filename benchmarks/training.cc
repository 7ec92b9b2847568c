#include "training.h"

#include <tessera/tessera.h>

#include <chrono>
#include <cmath>

#include "tessera/ops/linear/convolution.h"

namespace tessera::bench {
namespace {

struct Dense {
  Array w, b;
};
using Mlp = std::vector<Dense>;

Array normal(const Shape& shape, uint64_t seed) { return random::normal(random::key(seed), shape); }

NamedSharding on_line(PartitionSpec spec) {
  return NamedSharding(Mesh(devices(), {"x"}), std::move(spec));
}
template <class T>
T placed(const T& x, const PartitionSpec& spec, bool sharded) {
  if (!sharded) return x;
  return tree::map([&](const Array& leaf) { return device_put(leaf, on_line(spec)); }, x);
}

Mlp make_mlp(const std::vector<int64_t>& sizes) {
  Mlp out;
  for (size_t i = 0; i + 1 < sizes.size(); ++i)
    out.push_back({normal({sizes[i], sizes[i + 1]}, i) / std::sqrt(static_cast<float>(sizes[i])),
                   zeros({sizes[i + 1]})});
  return out;
}

Array mlp(const Mlp& layers, Array x) {
  for (size_t i = 0; i + 1 < layers.size(); ++i) x = relu(matmul(x, layers[i].w) + layers[i].b);
  return matmul(x, layers.back().w) + layers.back().b;
}

// Mean cross entropy; `labels` index the last axis of the logits.
Array cross_entropy(const Array& logits, const Array& labels) {
  const Array chosen = take_along_axis(log_softmax(logits), expand_dims(labels, {-1}), -1);
  return -mean(chosen);
}

template <class Params, class Loss>
auto descend(const Loss& loss, float rate) {
  return [=](const Params& params, const auto&... batch) {
    const auto [value, grads] = value_and_grad(loss)(params, batch...);
    return std::pair(
        tree::map([&](const Array& p, const Array& g) { return p - rate * g; }, params, grads),
        value);
  };
}

auto mlp_sgd() {
  return descend<Mlp>([](const Mlp& layers, const Array& x,
                         const Array& y) { return cross_entropy(mlp(layers, x), y); },
                      0.1f);
}

struct MlpArguments {
  Mlp layers;
  Array x, y;
};
MlpArguments mlp_arguments(int64_t batch, const std::vector<int64_t>& sizes, bool sharded) {
  return {placed(make_mlp(sizes), P(), sharded),
          placed(normal({batch, sizes[0]}, 100), P("x"), sharded),
          placed(random::randint(random::key(101), {batch}, 0, static_cast<int>(sizes.back())),
                 P("x"), sharded)};
}

struct Block {
  Array qkv, o, w1, w2, g1, g2;
};
struct Transformer {
  Array emb;
  std::vector<Block> blocks;
  Array out;
};
constexpr int64_t kWidth = 256, kHeads = 4, kLayers = 4, kVocabulary = 512, kLength = 128;

Transformer make_transformer() {
  constexpr int64_t d = kWidth;
  Transformer t{normal({kVocabulary, d}, 0) * 0.02f, {}, normal({d, kVocabulary}, 1) / 16};
  for (uint64_t i = 0; i < kLayers; ++i)
    t.blocks.push_back({normal({d, 3 * d}, 10 * i + 2) / 16, normal({d, d}, 10 * i + 3) / 16,
                        normal({d, 4 * d}, 10 * i + 4) / 16, normal({4 * d, d}, 10 * i + 5) / 32,
                        ones({d}), ones({d})});
  return t;
}

Array layer_norm(const Array& x, const Array& gain) {
  const Array m = mean(x, {.axis = -1, .keepdims = true});
  const Array v = mean(square(x - m), {.axis = -1, .keepdims = true});
  return (x - m) / sqrt(v + 1e-5f) * gain;
}

Array transformer_loss(const Transformer& p, const Array& tokens) {
  const int64_t batch = tokens.shape(0), length = tokens.shape(1) - 1, d = kWidth, h = kHeads;
  Array x = take(p.emb, slice_in_dim(tokens, 0, length, 1), {.axis = 0});
  const Array mask = tril(ones({length, length}, bool_));
  const auto heads = [&](const Array& t) {
    return transpose(reshape(t, {batch, length, h, d / h}), {0, 2, 1, 3});
  };
  for (const Block& b : p.blocks) {
    const std::vector<Array> qkv = split(matmul(layer_norm(x, b.g1), b.qkv), 3, -1);
    Array s = matmul(heads(qkv[0]), swapaxes(heads(qkv[1]), -1, -2)) /
              std::sqrt(static_cast<float>(d / h));
    s = softmax(where(mask, s, -1e30f), -1);
    const Array mixed = transpose(matmul(s, heads(qkv[2])), {0, 2, 1, 3});
    x = x + matmul(reshape(mixed, {batch, length, d}), b.o);
    x = x + matmul(gelu(matmul(layer_norm(x, b.g2), b.w1)), b.w2);
  }
  return cross_entropy(matmul(x, p.out), slice_in_dim(tokens, 1, length + 1, 1));
}

auto transformer_sgd() { return descend<Transformer>(transformer_loss, 1e-2f); }

Array tokens(int64_t batch, bool sharded) {
  return placed(random::randint(random::key(7), {batch, kLength + 1}, 0, int{kVocabulary}), P("x"),
                sharded);
}

struct ConvNet {
  Array w1, b1, w2, b2, w3, b3;
};
Array convolved(const Array& x, const Array& w) {
  return lax::conv_general_dilated(
      x, w, {1, 1}, "SAME", {.lhs_layout = "NHWC", .rhs_layout = "HWIO", .out_layout = "NHWC"});
}
Array conv_net(const ConvNet& p, Array x) {
  const nn::PoolOptions halved{.strides = {2, 2}};
  x = nn::max_pool(relu(convolved(x, p.w1) + p.b1), {2, 2}, halved);
  x = nn::max_pool(relu(convolved(x, p.w2) + p.b2), {2, 2}, halved);
  return matmul(reshape(x, {x.shape(0), -1}), p.w3) + p.b3;
}

double seconds_of(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Run mlp_step(int64_t batch, const std::vector<int64_t>& sizes, bool sharded) {
  const MlpArguments a = mlp_arguments(batch, sizes, sharded);
  auto step = jit(mlp_sgd());
  return [=] { step(a.layers, a.x, a.y); };
}

Run transformer_step(int64_t batch, bool sharded) {
  const Transformer params = placed(make_transformer(), P(), sharded);
  const Array text = tokens(batch, sharded);
  auto step = jit(transformer_sgd());
  return [=] { step(params, text); };
}

Run conv_net_step(int64_t batch, bool sharded) {
  const ConvNet params =
      placed(ConvNet{normal({3, 3, 1, 32}, 0) / 3, zeros({32}), normal({3, 3, 32, 64}, 1) / 17,
                     zeros({64}), normal({7 * 7 * 64, 10}, 2) / 56, zeros({10})},
             P(), sharded);
  const Array x = placed(normal({batch, 28, 28, 1}, 100), P("x"), sharded),
              y = placed(random::randint(random::key(101), {batch}, 0, 10), P("x"), sharded);
  auto step = jit(descend<ConvNet>([](const ConvNet& p, const Array& x,
                                      const Array& y) { return cross_entropy(conv_net(p, x), y); },
                                   0.1f));
  return [=] { step(params, x, y); };
}

Run convolution(bool gradients) {
  const Array x = normal({32, 56, 56, 64}, 0), w = normal({3, 3, 64, 64}, 1) / 24;
  if (!gradients) {
    auto f = jit(convolved);
    return [=] { f(x, w); };
  }
  auto f = jit([](const Array& x, const Array& w) {
    return value_and_grad<0, 1>(
        [](const Array& x, const Array& w) { return sum(square(convolved(x, w))); })(x, w);
  });
  return [=] { f(x, w); };
}

std::vector<double> compile_mlp(const std::vector<int64_t>& sizes, int times) {
  std::vector<double> out;
  for (int i = 0; i < times; ++i) {
    const MlpArguments a = mlp_arguments(256 + 8 * i, sizes, true);
    auto step = jit(mlp_sgd());
    out.push_back(seconds_of([&] { step.lower(a.layers, a.x, a.y).compile(); }));
  }
  return out;
}

std::vector<double> compile_transformer(int times) {
  std::vector<double> out;
  const Transformer params = placed(make_transformer(), P(), true);
  for (int i = 0; i < times; ++i) {
    const Array text = tokens(8 * (i + 1), true);
    auto step = jit(transformer_sgd());
    out.push_back(seconds_of([&] { step.lower(params, text).compile(); }));
  }
  return out;
}

}  // namespace tessera::bench
