// The peer's models with their losses: what training and private training are measured on.
#pragma once

#include <tessera/tessera.h>

#include <vector>

namespace tessera::bench {

struct Dense {
  Array w, b;
};
using Mlp = std::vector<Dense>;
Mlp make_mlp(const std::vector<int64_t>& sizes);
Array mlp_loss(const Mlp& layers, const Array& x, const Array& labels);

struct Block {
  Array qkv, o, w1, w2, g1, g2;
};
struct Transformer {
  Array emb;
  std::vector<Block> blocks;
  Array out;
};
Transformer make_transformer();
Array transformer_loss(const Transformer& p, const Array& tokens);
Array tokens(int64_t batch);

struct ConvNet {
  Array w1, b1, w2, b2, w3, b3;
};
ConvNet make_conv_net();
Array conv_net_loss(const ConvNet& p, const Array& x, const Array& labels);
// Windows of images [batch, height, width, features].
Array convolved(const Array& x, const Array& w);

Array normal(const Shape& shape, uint64_t seed);
// Leaves sharded as `spec` says along the 8 devices; as they are where not `sharded`.
Array placed(const Array& x, const PartitionSpec& spec, bool sharded);
template <class T>
T placed(const T& x, const PartitionSpec& spec, bool sharded) {
  return tree::map([&](const Array& leaf) { return placed(leaf, spec, sharded); }, x);
}

// (params, batch...) -> (params after a step down `gradient`, what else it gives)
template <class Params, class ValueAndGrad>
auto descend(const ValueAndGrad& value_and_grad, float rate) {
  return [=](const Params& params, const auto&... batch) {
    const auto [value, grads] = value_and_grad(params, batch...);
    return std::pair(
        tree::map([&](const Array& p, const Array& g) { return p - rate * g; }, params, grads),
        value);
  };
}

}  // namespace tessera::bench
