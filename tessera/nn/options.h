// Options that a layer has both in linen and in nnx; both use them under their own names.
#pragma once

#include <optional>
#include <string>

#include "tessera/nn/conv.h"
#include "tessera/nn/initializers.h"

namespace tessera::nn {

struct DenseOptions {
  bool use_bias = true;
  OptionalDType dtype = {};  // of the computation; absent: the common one of inputs and parameters
  DType param_dtype = float32;
  initializers::Initializer kernel_init = initializers::lecun_normal();
  initializers::Initializer bias_init = initializers::zeros();
};

struct ConvLayerOptions {
  // One extent for all spatial dimensions, one for each, or none for 1.
  Dims strides = {};
  Padding padding = Padding::kSame;
  Dims input_dilation = {}, kernel_dilation = {};
  int64_t feature_group_count = 1;
  bool use_bias = true;
  OptionalDType dtype = {};
  DType param_dtype = float32;
  initializers::Initializer kernel_init = initializers::lecun_normal();
  initializers::Initializer bias_init = initializers::zeros();
};

struct EmbedOptions {
  OptionalDType dtype = {};
  DType param_dtype = float32;
  initializers::Initializer embedding_init = initializers::embed_normal();
};

struct LayerNormOptions {
  double epsilon = 1e-6;
  bool use_bias = true, use_scale = true;
  OptionalDType dtype = {};
  DType param_dtype = float32;
};

struct GroupNormLayerOptions {
  // Groups of features that are normalised together. To give group_size, set num_groups to
  // std::nullopt.
  std::optional<int64_t> num_groups = 32, group_size = std::nullopt;
  double epsilon = 1e-6;
  bool use_bias = true, use_scale = true;
  Dims reduction_axes = {};    // the last one, the features', included; none: all except the first
  std::string axis_name = {};  // of a shard_map or vmap: statistics are over all its members
  OptionalDType dtype = {};
  DType param_dtype = float32;
};

}  // namespace tessera::nn
