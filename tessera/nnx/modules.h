// Modules as plain values, with the names, defaults and initial parameters of flax.nnx 0.12. A
// module is a tree: its arrays are leaves, its hyper-parameters static. Gradients of a module have
// its type; a struct of modules is a module.
//
//   struct Mlp {
//     nnx::Linear first, second;
//     explicit Mlp(nnx::Rngs rngs) : first(64, 32, rngs), second(32, 10, rngs) {}
//     Array operator()(const Array& x) const { return second(relu(first(x))); }
//     template <class Self>
//     static constexpr auto fields(Self& self) { return std::tie(self.first, self.second); }
//   };
//
// A module without bias (or scale) has an empty array, of shape (0), instead of it.
#pragma once

#include "tessera/nn/options.h"
#include "tessera/nn/pooling.h"
#include "tessera/nnx/rngs.h"
#include "tessera/nnx/state.h"

namespace tessera::nnx {

using nn::avg_pool;
using nn::AvgPoolOptions;
using nn::max_pool;
using nn::min_pool;
using nn::PoolOptions;

using LinearOptions = nn::DenseOptions;
// Computes x @ kernel + bias over the last dimension.
struct Linear {
  Array kernel, bias;
  bool use_bias = true;
  OptionalDType dtype = {};

  Linear() = default;
  Linear(int64_t in_features, int64_t out_features, Rngs& rngs, const LinearOptions& options = {});
  Linear(int64_t in_features, int64_t out_features, Rngs&& rngs, const LinearOptions& options = {})
      : Linear(in_features, out_features, rngs, options) {}

  Array operator()(const Array& x) const;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.kernel, self.bias, self.use_bias, self.dtype);
  }
};

using nn::Padding;
using ConvOptions = nn::ConvLayerOptions;
// Convolves (batch..., spatial..., features) with a kernel that has the dimensions of kernel_size.
struct Conv {
  Array kernel, bias;
  nn::ConvOptions options;
  bool use_bias = true;
  OptionalDType dtype = {};

  Conv() = default;
  Conv(int64_t in_features, int64_t out_features, const Dims& kernel_size, Rngs& rngs,
       const ConvOptions& options = {});
  Conv(int64_t in_features, int64_t out_features, const Dims& kernel_size, Rngs&& rngs,
       const ConvOptions& options = {})
      : Conv(in_features, out_features, kernel_size, rngs, options) {}

  Array operator()(const Array& x) const;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.kernel, self.bias, self.options.strides, self.options.padding,
                    self.options.input_dilation, self.options.kernel_dilation,
                    self.options.feature_group_count, self.use_bias, self.dtype);
  }
};

using EmbedOptions = nn::EmbedOptions;
// Returns the rows of a table at integer tokens; NaN for tokens outside of it.
struct Embed {
  Array embedding;
  OptionalDType dtype = {};

  Embed() = default;
  Embed(int64_t num_embeddings, int64_t features, Rngs& rngs, const EmbedOptions& options = {});
  Embed(int64_t num_embeddings, int64_t features, Rngs&& rngs, const EmbedOptions& options = {})
      : Embed(num_embeddings, features, rngs, options) {}

  Array operator()(const Array& tokens) const;
  // Returns x @ embedding^T: logits of a model whose input and output share the table.
  Array attend(const Array& x) const;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.embedding, self.dtype);
  }
};

using LayerNormOptions = nn::LayerNormOptions;
// Normalises over the last dimension, in float32 or wider.
struct LayerNorm {
  Array scale, bias;
  double epsilon = 1e-6;
  bool use_bias = true, use_scale = true;
  OptionalDType dtype = {};

  LayerNorm() = default;
  LayerNorm(int64_t num_features, Rngs& rngs, const LayerNormOptions& options = {});
  LayerNorm(int64_t num_features, Rngs&& rngs, const LayerNormOptions& options = {})
      : LayerNorm(num_features, rngs, options) {}

  Array operator()(const Array& x) const;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.scale, self.bias, self.epsilon, self.use_bias, self.use_scale, self.dtype);
  }
};

using GroupNormOptions = nn::GroupNormLayerOptions;
// Normalises over all dimensions except the first, within groups of features.
struct GroupNorm {
  Array scale, bias;
  int64_t num_groups = 1;
  double epsilon = 1e-6;
  bool use_bias = true, use_scale = true;
  Dims reduction_axes;
  std::string axis_name;
  OptionalDType dtype = {};

  GroupNorm() = default;
  GroupNorm(int64_t num_features, Rngs& rngs, const GroupNormOptions& options = {});
  GroupNorm(int64_t num_features, Rngs&& rngs, const GroupNormOptions& options = {})
      : GroupNorm(num_features, rngs, options) {}

  Array operator()(const Array& x) const;
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.scale, self.bias, self.num_groups, self.epsilon, self.use_bias,
                    self.use_scale, self.reduction_axes, self.axis_name, self.dtype);
  }
};

struct BatchNormOptions {
  bool use_running_average = false;
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
// updates the running ones; in evaluation (use_running_average, nnx::eval) it uses the running
// ones.
struct BatchNorm {
  Array scale, bias;
  BatchStat mean, var;
  bool use_running_average = false;
  int64_t axis = -1;
  double momentum = 0.99, epsilon = 1e-5;
  bool use_bias = true, use_scale = true;
  std::string axis_name;
  OptionalDType dtype = {};

  BatchNorm() = default;
  BatchNorm(int64_t num_features, Rngs& rngs, const BatchNormOptions& options = {});
  BatchNorm(int64_t num_features, Rngs&& rngs, const BatchNormOptions& options = {})
      : BatchNorm(num_features, rngs, options) {}

  Array operator()(const Array& x);
  // Throws UserError in training, because the module would have to change.
  Array operator()(const Array& x) const;
  void set_training(bool training) { use_running_average = !training; }
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.scale, self.bias, self.mean, self.var, self.use_running_average, self.axis,
                    self.momentum, self.epsilon, self.use_bias, self.use_scale, self.axis_name,
                    self.dtype);
  }

 private:
  Array normalized(const Array& x, const Array& mean, const Array& variance) const;
};

struct DropoutOptions {
  Dims broadcast_dims = {};
  bool deterministic = false;
  std::string rng_collection = "dropout";
};
// In training each element becomes 0 with probability `rate`, and the others are divided by 1 -
// rate. The module has a stream of its own, forked from the rngs.
struct Dropout {
  double rate = 0;
  Dims broadcast_dims;
  bool deterministic = false;
  RngStream rngs;

  Dropout() = default;
  Dropout(double rate, Rngs& rngs, const DropoutOptions& options = {});
  Dropout(double rate, Rngs&& rngs, const DropoutOptions& options = {})
      : Dropout(rate, rngs, options) {}

  Array operator()(const Array& x);
  // Throws UserError in training, because its stream would have to advance.
  Array operator()(const Array& x) const;
  void set_training(bool training) { deterministic = !training; }
  template <class Self>
  static constexpr auto fields(Self& self) {
    return std::tie(self.rate, self.broadcast_dims, self.deterministic, self.rngs);
  }
};

}  // namespace tessera::nnx
