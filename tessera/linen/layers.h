// The layers of flax.linen. A layer without bias (or scale) has an empty array, of shape (0),
// instead of it.
#pragma once

#include "tessera/linen/module.h"
#include "tessera/nn/options.h"
#include "tessera/nn/pooling.h"

namespace tessera::linen {

using nn::avg_pool;
using nn::AvgPoolOptions;
using nn::max_pool;
using nn::min_pool;
using nn::PoolOptions;

using DenseOptions = nn::DenseOptions;
// Computes x @ kernel + bias over the last dimension.
class Dense : public Module<Dense> {
 public:
  struct Params {
    Array kernel, bias;
  };
  using Stats = None;

  explicit Dense(int64_t features, DenseOptions options = {})
      : features_(features), options_(std::move(options)) {}

  std::pair<Params, None> init_at(Scope& scope, const Array& x) const;
  Array forward(const Params& params, None&, Call&, const Array& x) const;

 private:
  int64_t features_;
  DenseOptions options_;
};

using nn::Padding;
using ConvOptions = nn::ConvLayerOptions;
// Convolves (batch..., spatial..., features) with a kernel that has the dimensions of kernel_size.
class Conv : public Module<Conv> {
 public:
  struct Params {
    Array kernel, bias;
  };
  using Stats = None;

  Conv(int64_t features, Dims kernel_size, ConvOptions options = {})
      : features_(features), kernel_size_(std::move(kernel_size)), options_(std::move(options)) {}

  std::pair<Params, None> init_at(Scope& scope, const Array& x) const;
  Array forward(const Params& params, None&, Call&, const Array& x) const;

 private:
  nn::ConvOptions geometry() const;

  int64_t features_;
  Dims kernel_size_;
  ConvOptions options_;
};

struct ConvTransposeOptions {
  // One extent for all spatial dimensions, one for each, or none for 1.
  Dims strides = {};
  Padding padding = Padding::kSame;  // kSame, kValid or widths
  Dims kernel_dilation = {};
  bool use_bias = true;
  OptionalDType dtype = {};
  DType param_dtype = float32;
  initializers::Initializer kernel_init = initializers::lecun_normal();
  initializers::Initializer bias_init = initializers::zeros();
  bool transpose_kernel = false;  // the kernel is (spatial..., features, inputs' features)
};
// Computes the transposed convolution of (batch..., spatial..., features). Strides enlarge the
// result.
class ConvTranspose : public Module<ConvTranspose> {
 public:
  struct Params {
    Array kernel, bias;
  };
  using Stats = None;

  ConvTranspose(int64_t features, Dims kernel_size, ConvTransposeOptions options = {})
      : features_(features), kernel_size_(std::move(kernel_size)), options_(std::move(options)) {}

  std::pair<Params, None> init_at(Scope& scope, const Array& x) const;
  Array forward(const Params& params, None&, Call&, const Array& x) const;

 private:
  int64_t features_;
  Dims kernel_size_;
  ConvTransposeOptions options_;
};

using EmbedOptions = nn::EmbedOptions;
// Returns the rows of a table at integer tokens; NaN for tokens outside of it.
class Embed : public Module<Embed> {
 public:
  struct Params {
    Array embedding;
  };
  using Stats = None;

  Embed(int64_t num_embeddings, int64_t features, EmbedOptions options = {})
      : num_embeddings_(num_embeddings), features_(features), options_(std::move(options)) {}

  std::pair<Params, None> init_at(Scope& scope, const Array& tokens) const;
  Array forward(const Params& params, None&, Call&, const Array& tokens) const;
  // Returns x @ embedding^T: logits of a model whose input and output share the table.
  Array attend(const Params& params, const Array& x) const;

 private:
  int64_t num_embeddings_, features_;
  EmbedOptions options_;
};

using LayerNormOptions = nn::LayerNormOptions;
// Normalises over the last dimension, in float32 or wider.
class LayerNorm : public Module<LayerNorm> {
 public:
  struct Params {
    Array scale, bias;
  };
  using Stats = None;

  explicit LayerNorm(LayerNormOptions options = {}) : options_(std::move(options)) {}

  std::pair<Params, None> init_at(Scope& scope, const Array& x) const;
  Array forward(const Params& params, None&, Call&, const Array& x) const;

 private:
  LayerNormOptions options_;
};

using GroupNormOptions = nn::GroupNormLayerOptions;
// Normalises over all dimensions except the first, within groups of features.
class GroupNorm : public Module<GroupNorm> {
 public:
  struct Params {
    Array scale, bias;
  };
  using Stats = None;

  explicit GroupNorm(GroupNormOptions options = {}) : options_(std::move(options)) {}

  std::pair<Params, None> init_at(Scope& scope, const Array& x) const;
  Array forward(const Params& params, None&, Call&, const Array& x) const;

 private:
  int64_t groups(const Array& x) const;

  GroupNormOptions options_;
};

struct BatchNormOptions {
  int64_t axis = -1;  // the axis of the features
  double momentum = 0.99, epsilon = 1e-5;
  bool use_bias = true, use_scale = true;
  // The name of an axis of a shard_map or vmap: statistics are over all its members. Without it
  // each device of a shard_map has statistics of its own. jit alone needs no name, because it
  // computes with the whole batch.
  std::string axis_name = {};
  OptionalDType dtype = {};
  DType param_dtype = float32;
};
// Normalises over all dimensions except one. In training it uses the statistics of the batch, and
// updates the running ones; in evaluation it uses the running ones.
class BatchNorm : public Module<BatchNorm> {
 public:
  struct Params {
    Array scale, bias;
  };
  struct Stats {
    Array mean, var;
  };

  explicit BatchNorm(BatchNormOptions options = {}) : options_(std::move(options)) {}

  std::pair<Params, Stats> init_at(Scope& scope, const Array& x) const;
  Array forward(const Params& params, Stats& stats, Call& call, const Array& x) const;

 private:
  BatchNormOptions options_;
};

// In training each element becomes 0 with probability `rate`, and the others are divided by 1 -
// rate.
class Dropout : public Module<Dropout> {
 public:
  using Params = None;
  using Stats = None;

  explicit Dropout(double rate, Dims broadcast_dims = {})
      : rate_(rate), broadcast_dims_(std::move(broadcast_dims)) {}

  std::pair<None, None> init_at(Scope&, const Array&) const { return {}; }
  Array forward(const None&, None&, Call& call, const Array& x) const;

 private:
  double rate_;
  Dims broadcast_dims_;
};

// The query, key and value of attention: (..., length, features). If the key is absent, it is the
// query; if the value is absent, it is the key. `mask` is bool and broadcasts to (..., heads, query
// length, key length): true for the keys that a query attends to.
struct AttentionInputs {
  Array query, key = {}, value = {}, mask = {};
};
// Returns whether query position i may attend to key position j, which is j <= i: bool (length,
// length).
Array causal_mask(int64_t length);

struct AttentionOptions {
  std::optional<int64_t> qkv_features = std::nullopt;  // of all heads together; absent: the query's
  std::optional<int64_t> out_features = std::nullopt;  // absent: the query's
  double dropout_rate = 0;                             // of the weights
  bool use_bias = true;
  OptionalDType dtype = {};
  DType param_dtype = float32;
  initializers::Initializer kernel_init = initializers::lecun_normal();
  initializers::Initializer bias_init = initializers::zeros();
};
// Flax's MultiHeadDotProductAttention: kernels (features, heads, depth) of query, key and value,
// and (heads, depth, features) of the result.
class MultiHeadAttention : public Module<MultiHeadAttention> {
 public:
  struct Params {
    Dense::Params query, key, value, out;
  };
  using Stats = None;

  explicit MultiHeadAttention(int64_t num_heads, AttentionOptions options = {})
      : num_heads_(num_heads), options_(std::move(options)) {}

  std::pair<Params, None> init_at(Scope& scope, const AttentionInputs& inputs) const;
  std::pair<Params, None> init_at(Scope& scope, const Array& x) const {
    return init_at(scope, AttentionInputs{x});
  }
  Array forward(const Params& params, None&, Call& call, const AttentionInputs& inputs) const;
  Array forward(const Params& params, None& none, Call& call, const Array& x) const {
    return forward(params, none, call, AttentionInputs{x});
  }

 private:
  int64_t num_heads_;
  AttentionOptions options_;
};

}  // namespace tessera::linen
