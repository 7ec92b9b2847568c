#include "tessera/linen/layers.h"

#include "tessera/ir/format.h"
#include "tessera/nn/layer_math.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"

namespace tessera::linen {

using namespace ir;

namespace {

// As in flax, an unused parameter takes no number.
Array parameter(bool used, const initializers::Initializer& init, Scope& scope, const Shape& shape,
                DType dtype) {
  return used ? init(scope.make_param_key(), shape, dtype) : zeros(Shape{0}, dtype);
}
Array if_used(const Array& x, bool used) { return used ? x : Array(); }

int64_t features_of(const char* name, const Array& x, int64_t axis = -1) {
  if (x.ndim() == 0)
    shape_error(name, "expected inputs of at least 1 dimension, got {}", describe(x.type()));
  return x.shape(axis);
}

void check_features(const char* name, const Array& x, int64_t axis, const Array& parameter) {
  if (features_of(name, x, axis) != parameter.size())
    shape_error(name, "expected {} features along axis {}, as at init, got {}", parameter.size(),
                axis, describe(x.type()));
}

}  // namespace

std::pair<Dense::Params, None> Dense::init_at(Scope& scope, const Array& x) const {
  const DenseOptions& o = options_;
  Params out;
  out.kernel = o.kernel_init(scope.make_param_key(),
                             Shape{features_of("linen::Dense", x), features_}, o.param_dtype);
  out.bias = parameter(o.use_bias, o.bias_init, scope, Shape{features_}, o.param_dtype);
  return {std::move(out), {}};
}
Array Dense::forward(const Params& params, None&, Call&, const Array& x) const {
  return nn::dense(x, params.kernel, if_used(params.bias, options_.use_bias), options_.dtype);
}

nn::ConvOptions Conv::geometry() const {
  const ConvOptions& o = options_;
  return {o.strides, o.padding, o.input_dilation, o.kernel_dilation, o.feature_group_count};
}
std::pair<Conv::Params, None> Conv::init_at(Scope& scope, const Array& x) const {
  const ConvOptions& o = options_;
  const Shape shape = nn::conv_kernel_shape("linen::Conv", kernel_size_,
                                            features_of("linen::Conv", x), features_, geometry());
  Params out;
  out.kernel = o.kernel_init(scope.make_param_key(), shape, o.param_dtype);
  out.bias = parameter(o.use_bias, o.bias_init, scope, Shape{features_}, o.param_dtype);
  return {std::move(out), {}};
}
Array Conv::forward(const Params& params, None&, Call&, const Array& x) const {
  return nn::conv("linen::Conv", x, params.kernel, if_used(params.bias, options_.use_bias),
                  geometry(), options_.dtype);
}

std::pair<ConvTranspose::Params, None> ConvTranspose::init_at(Scope& scope, const Array& x) const {
  const ConvTransposeOptions& o = options_;
  const int64_t inputs = features_of("linen::ConvTranspose", x);
  const Shape shape = nn::conv_kernel_shape("linen::ConvTranspose", kernel_size_,
                                            o.transpose_kernel ? features_ : inputs,
                                            o.transpose_kernel ? inputs : features_, {});
  Params out;
  out.kernel = o.kernel_init(scope.make_param_key(), shape, o.param_dtype);
  out.bias = parameter(o.use_bias, o.bias_init, scope, Shape{features_}, o.param_dtype);
  return {std::move(out), {}};
}
Array ConvTranspose::forward(const Params& params, None&, Call&, const Array& x) const {
  const ConvTransposeOptions& o = options_;
  return nn::conv_transpose("linen::ConvTranspose", x, params.kernel,
                            if_used(params.bias, o.use_bias),
                            {o.strides, o.padding, o.kernel_dilation, o.transpose_kernel}, o.dtype);
}

std::pair<Embed::Params, None> Embed::init_at(Scope& scope, const Array&) const {
  return {{options_.embedding_init(scope.make_param_key(), Shape{num_embeddings_, features_},
                                   options_.param_dtype)},
          {}};
}
Array Embed::forward(const Params& params, None&, Call&, const Array& tokens) const {
  return nn::embed(tokens, params.embedding, options_.dtype);
}
Array Embed::attend(const Params& params, const Array& x) const {
  return nn::attend(x, params.embedding, options_.dtype);
}

std::pair<LayerNorm::Params, None> LayerNorm::init_at(Scope& scope, const Array& x) const {
  const LayerNormOptions& o = options_;
  const Shape shape{features_of("linen::LayerNorm", x)};
  Params out;
  out.scale = parameter(o.use_scale, initializers::ones(), scope, shape, o.param_dtype);
  out.bias = parameter(o.use_bias, initializers::zeros(), scope, shape, o.param_dtype);
  return {std::move(out), {}};
}
Array LayerNorm::forward(const Params& params, None&, Call&, const Array& x) const {
  const LayerNormOptions& o = options_;
  if (o.use_scale || o.use_bias)
    check_features("linen::LayerNorm", x, -1, o.use_scale ? params.scale : params.bias);
  const int64_t last = normalize_axis("linen::LayerNorm", -1, x.ndim());
  return nn::normalize(x, nn::moments(x, {last}, {}), if_used(params.scale, o.use_scale),
                       if_used(params.bias, o.use_bias), {{last}, last, o.epsilon, o.dtype});
}

int64_t GroupNorm::groups(const Array& x) const {
  return nn::groups_of("linen::GroupNorm", features_of("linen::GroupNorm", x), options_.num_groups,
                       options_.group_size);
}
std::pair<GroupNorm::Params, None> GroupNorm::init_at(Scope& scope, const Array& x) const {
  groups(x);
  const GroupNormOptions& o = options_;
  const Shape shape{features_of("linen::GroupNorm", x)};
  Params out;
  out.scale = parameter(o.use_scale, initializers::ones(), scope, shape, o.param_dtype);
  out.bias = parameter(o.use_bias, initializers::zeros(), scope, shape, o.param_dtype);
  return {std::move(out), {}};
}
Array GroupNorm::forward(const Params& params, None&, Call&, const Array& x) const {
  const GroupNormOptions& o = options_;
  if (o.use_scale || o.use_bias)
    check_features("linen::GroupNorm", x, -1, o.use_scale ? params.scale : params.bias);
  return nn::group_norm("linen::GroupNorm", x, if_used(params.scale, o.use_scale),
                        if_used(params.bias, o.use_bias),
                        {groups(x), o.reduction_axes, o.epsilon, o.axis_name, o.dtype});
}

std::pair<BatchNorm::Params, BatchNorm::Stats> BatchNorm::init_at(Scope& scope,
                                                                  const Array& x) const {
  const BatchNormOptions& o = options_;
  const Shape shape{features_of("linen::BatchNorm", x, o.axis)};
  Params out;
  out.scale = parameter(o.use_scale, initializers::ones(), scope, shape, o.param_dtype);
  out.bias = parameter(o.use_bias, initializers::zeros(), scope, shape, o.param_dtype);
  return {std::move(out), {zeros(shape, float32), ones(shape, float32)}};
}
Array BatchNorm::forward(const Params& params, Stats& stats, Call& call, const Array& x) const {
  const BatchNormOptions& o = options_;
  check_features("linen::BatchNorm", x, o.axis, stats.mean);
  const int64_t feature = normalize_axis("linen::BatchNorm", o.axis, x.ndim());
  const Dims reduced = nn::all_axes_but(feature, x.ndim());
  nn::Moments moments{stats.mean, stats.var};
  if (call.train) {
    nn::expect_batch("linen::BatchNorm");
    moments = nn::moments(x, reduced, o.axis_name);
    stats.mean = o.momentum * stats.mean + (1 - o.momentum) * moments.mean;
    stats.var = o.momentum * stats.var + (1 - o.momentum) * moments.variance;
  }
  return nn::normalize(x, moments, if_used(params.scale, o.use_scale),
                       if_used(params.bias, o.use_bias), {reduced, feature, o.epsilon, o.dtype});
}

Array Dropout::forward(const None&, None&, Call& call, const Array& x) const {
  if (!call.train || rate_ == 0) return x;
  return nn::dropout(x, rate_, call.scope.make_dropout_key(), broadcast_dims_);
}

Array causal_mask(int64_t length) { return tril(ones(Shape{length, length}, bool_)); }

std::pair<MultiHeadAttention::Params, None> MultiHeadAttention::init_at(
    Scope& scope, const AttentionInputs& inputs) const {
  const char* name = "linen::MultiHeadAttention";
  const AttentionOptions& o = options_;
  const Array& query = inputs.query;
  const Array& key = inputs.key.defined() ? inputs.key : query;
  const Array& value = inputs.value.defined() ? inputs.value : key;
  const int64_t width = features_of(name, query), features = o.qkv_features.value_or(width);
  if (num_heads_ < 1 || features % num_heads_ != 0)
    value_error(name, "expected a number of heads that divides the {} features, got {}", features,
                num_heads_);
  const Shape heads{num_heads_, features / num_heads_};

  // A kernel is drawn as a matrix, (inputs, outputs), and reshaped afterwards.
  const auto dense = [&](const char* part, const Shape& in, const Shape& out) {
    Scope inner = scope.child(part);
    Shape whole = in;
    whole.insert(whole.end(), out.begin(), out.end());
    Dense::Params p;
    p.kernel = reshape(
        o.kernel_init(inner.make_param_key(), Shape{in.elements(), out.elements()}, o.param_dtype),
        whole);
    p.bias = parameter(o.use_bias, o.bias_init, inner, Shape{out.elements()}, o.param_dtype);
    if (o.use_bias) p.bias = reshape(p.bias, out);
    return p;
  };
  return {{dense("query", {width}, heads), dense("key", {features_of(name, key)}, heads),
           dense("value", {features_of(name, value)}, heads),
           dense("out", heads, {o.out_features.value_or(width)})},
          {}};
}

Array MultiHeadAttention::forward(const Params& params, None&, Call& call,
                                  const AttentionInputs& inputs) const {
  const AttentionOptions& o = options_;
  const Array& query = inputs.query;
  const Array& key = inputs.key.defined() ? inputs.key : query;
  const Array& value = inputs.value.defined() ? inputs.value : key;
  const auto project = [&](const Dense::Params& p, const Array& x, int64_t axes) {
    return nn::dense_general(x, p.kernel, if_used(p.bias, o.use_bias), axes, o.dtype);
  };
  nn::AttentionOptions options{
      .mask = inputs.mask, .dropout_rate = o.dropout_rate, .dropout_key = {}, .dtype = o.dtype};
  if (call.train && o.dropout_rate > 0) options.dropout_key = call.scope.make_dropout_key();
  return project(params.out,
                 nn::attention(project(params.query, query, 1), project(params.key, key, 1),
                               project(params.value, value, 1), options),
                 2);
}

}  // namespace tessera::linen
