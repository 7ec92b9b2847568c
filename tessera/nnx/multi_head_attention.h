// Multi-head attention as a value, with the names, defaults and initial parameters of flax.nnx
// 0.12.
#pragma once

#include "tessera/nnx/modules.h"

namespace tessera::nnx {

// The query, key and value of attention: (..., length, features). If the key is absent, it is the
// query; if the value is absent, it is the key. `mask` is bool and broadcasts to (..., heads, query
// length, key length): true for the keys that a query attends to. With `is_causal`, position i
// attends only to positions up to i.
struct AttentionInputs {
  Array query, key = {}, value = {}, mask = {};
  bool is_causal = false;
};

struct AttentionOptions {
  // The features of all heads together, of the result, and of the key's and value's inputs; if
  // absent, in_features.
  std::optional<int64_t> qkv_features = std::nullopt, out_features = std::nullopt,
                         in_kv_features = std::nullopt;
  // The number of heads of key and value, each shared by a group of the query's; if absent, it is
  // that of the query.
  std::optional<int64_t> num_kv_heads = std::nullopt;
  double dropout_rate = 0;        // of the weights
  bool broadcast_dropout = true;  // the same for all of a batch and its heads
  bool deterministic = false;
  bool use_bias = true;
  bool normalize_qk = false;  // LayerNorm of each head's query and key
  bool decode = false;        // one position at a time, see init_cache
  OptionalDType dtype = {};
  DType param_dtype = float32;
  initializers::Initializer kernel_init = initializers::lecun_normal();
  initializers::Initializer bias_init = initializers::zeros();
  std::optional<initializers::Initializer> out_kernel_init = std::nullopt,
                                           out_bias_init = std::nullopt;  // absent: those above
};

// A linear layer with a kernel of several dimensions: contracts the last dimensions of x with the
// first ones of the kernel.
struct LinearGeneral {
  Array kernel, bias;
  int64_t axes = 1;  // number of x's dimensions that are contracted
  bool use_bias = true;
  OptionalDType dtype = {};

  LinearGeneral() = default;
  LinearGeneral(const Shape& in_features, const Shape& out_features, Rngs& rngs,
                const LinearOptions& options = {});

  Array operator()(const Array& x) const;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.kernel, self.bias, self.axes, self.use_bias, self.dtype);
  }
};

// The keys and values of the positions decoded so far, and the number of these positions.
struct AttentionCache {
  static constexpr bool kIsState = true;
  Array key, value, index;

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.key, self.value, self.index);
  }
};

// Multi-head attention. Its kernels are (features, heads, depth) for query, key and value, and
// (heads, depth, features) for the result. In training with dropout it draws from a stream of its
// own, which is forked from the rngs.
struct MultiHeadAttention {
  LinearGeneral query, key, value;
  std::optional<LayerNorm> query_ln, key_ln;
  LinearGeneral out;
  double dropout_rate = 0;
  bool broadcast_dropout = true, deterministic = false, decode = false;
  OptionalDType dtype = {};
  std::optional<RngStream> rngs;
  std::optional<AttentionCache> cache;

  MultiHeadAttention() = default;
  // Throws UserError if the features are not divisible by the heads, or the query's heads not by
  // those of key and value.
  MultiHeadAttention(int64_t num_heads, int64_t in_features, Rngs& rngs,
                     const AttentionOptions& options = {});
  MultiHeadAttention(int64_t num_heads, int64_t in_features, Rngs&& rngs,
                     const AttentionOptions& options = {})
      : MultiHeadAttention(num_heads, in_features, rngs, options) {}

  // Throws UserError for a value without a key, and if the number of features is not the module's;
  // in decoding also for more than one position, and without a cache.
  Array operator()(const AttentionInputs& inputs);
  Array operator()(const Array& x) { return (*this)(AttentionInputs{x}); }
  // Throws UserError in training with dropout and in decoding, because the module would have to
  // change.
  Array operator()(const AttentionInputs& inputs) const;
  Array operator()(const Array& x) const { return (*this)(AttentionInputs{x}); }

  // Makes an empty cache for inputs of this shape, (batch..., longest length, features). Then, with
  // decode = true, each call takes the next position, (batch..., 1, features), and attends to it
  // and all before it.
  void init_cache(const Shape& input_shape, DType cache_dtype = float32);
  void set_training(bool training) { deterministic = !training; }

  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.query, self.key, self.value, self.query_ln, self.key_ln, self.out,
                    self.dropout_rate, self.broadcast_dropout, self.deterministic, self.decode,
                    self.dtype, self.rngs, self.cache);
  }

 private:
  struct Projected {
    Array query, key, value, mask;
    bool is_causal;
  };
  Projected project(const AttentionInputs& inputs) const;
  Array attend(const Projected& p, const std::optional<random::Key>& dropout_key) const;
};

}  // namespace tessera::nnx
