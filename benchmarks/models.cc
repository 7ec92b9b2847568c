#include "models.h"

#include <cmath>

#include "tessera/ops/linear/convolution.h"

namespace tessera::bench {

Array normal(const Shape& shape, uint64_t seed) { return random::normal(random::key(seed), shape); }

Array placed(const Array& x, const PartitionSpec& spec, bool sharded) {
  return sharded ? device_put(x, NamedSharding(Mesh(devices(), {"x"}), spec)) : x;
}

Mlp make_mlp(const std::vector<int64_t>& sizes) {
  Mlp out;
  for (size_t i = 0; i + 1 < sizes.size(); ++i)
    out.push_back({normal({sizes[i], sizes[i + 1]}, i) / std::sqrt(static_cast<float>(sizes[i])),
                   zeros({sizes[i + 1]})});
  return out;
}

namespace {

Array mlp(const Mlp& layers, Array x) {
  for (size_t i = 0; i + 1 < layers.size(); ++i) x = relu(matmul(x, layers[i].w) + layers[i].b);
  return matmul(x, layers.back().w) + layers.back().b;
}

// Mean cross entropy; `labels` index the last axis of the logits.
Array cross_entropy(const Array& logits, const Array& labels) {
  const Array chosen = take_along_axis(log_softmax(logits), expand_dims(labels, {-1}), -1);
  return -mean(chosen);
}

Array layer_norm(const Array& x, const Array& gain) {
  const Array m = mean(x, {.axis = -1, .keepdims = true});
  const Array v = mean(square(x - m), {.axis = -1, .keepdims = true});
  return (x - m) / sqrt(v + 1e-5f) * gain;
}

}  // namespace

Array mlp_loss(const Mlp& layers, const Array& x, const Array& labels) {
  return cross_entropy(mlp(layers, x), labels);
}

namespace {
constexpr int64_t kWidth = 256, kHeads = 4, kLayers = 4, kVocabulary = 512, kLength = 128;
}  // namespace

Transformer make_transformer() {
  constexpr int64_t d = kWidth;
  Transformer t{normal({kVocabulary, d}, 0) * 0.02f, {}, normal({d, kVocabulary}, 1) / 16};
  for (uint64_t i = 0; i < kLayers; ++i)
    t.blocks.push_back({normal({d, 3 * d}, 10 * i + 2) / 16, normal({d, d}, 10 * i + 3) / 16,
                        normal({d, 4 * d}, 10 * i + 4) / 16, normal({4 * d, d}, 10 * i + 5) / 32,
                        ones({d}), ones({d})});
  return t;
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

Array tokens(int64_t batch) {
  return random::randint(random::key(7), {batch, kLength + 1}, 0, int{kVocabulary});
}

ConvNet make_conv_net() {
  return {normal({3, 3, 1, 32}, 0) / 3,     zeros({32}),
          normal({3, 3, 32, 64}, 1) / 17,   zeros({64}),
          normal({7 * 7 * 64, 10}, 2) / 56, zeros({10})};
}

Array convolved(const Array& x, const Array& w) {
  return lax::conv_general_dilated(
      x, w, {1, 1}, "SAME", {.lhs_layout = "NHWC", .rhs_layout = "HWIO", .out_layout = "NHWC"});
}
namespace {

Array conv_net(const ConvNet& p, Array x) {
  const nn::PoolOptions halved{.strides = {2, 2}};
  x = nn::max_pool(relu(convolved(x, p.w1) + p.b1), {2, 2}, halved);
  x = nn::max_pool(relu(convolved(x, p.w2) + p.b2), {2, 2}, halved);
  return matmul(reshape(x, {x.shape(0), -1}), p.w3) + p.b3;
}

}  // namespace

Array conv_net_loss(const ConvNet& p, const Array& x, const Array& labels) {
  return cross_entropy(conv_net(p, x), labels);
}

}  // namespace tessera::bench
