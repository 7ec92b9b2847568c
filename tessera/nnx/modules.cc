#include "tessera/nnx/modules.h"

#include "tessera/ir/format.h"
#include "tessera/ir/op_def.h"
#include "tessera/nn/layer_math.h"
#include "tessera/numpy/operators.h"

namespace tessera::nnx {

using namespace ir;

namespace {

Array absent(DType dtype) { return zeros(Shape{0}, dtype); }
Array if_used(const Array& x, bool used) { return used ? x : Array(); }

// As in flax, every parameter takes a key, even if it is constant.
Array parameter(bool used, const initializers::Initializer& init, Rngs& rngs, const Shape& shape,
                DType dtype) {
  return used ? init(rngs.params(), shape, dtype) : absent(dtype);
}

void check_features(const char* name, const Array& x, int64_t axis, int64_t features) {
  if (x.ndim() == 0 || x.shape(axis) != features)
    shape_error(name, "expected {} features along axis {}, got {}", features, axis,
                describe(x.type()));
}

}  // namespace

Linear::Linear(int64_t in_features, int64_t out_features, Rngs& rngs, const LinearOptions& o)
    : kernel(o.kernel_init(rngs.params(), Shape{in_features, out_features}, o.param_dtype)),
      bias(parameter(o.use_bias, o.bias_init, rngs, Shape{out_features}, o.param_dtype)),
      use_bias(o.use_bias),
      dtype(o.dtype) {}

Array Linear::operator()(const Array& x) const {
  return nn::dense(x, kernel, if_used(bias, use_bias), dtype);
}

Conv::Conv(int64_t in_features, int64_t out_features, const Dims& kernel_size, Rngs& rngs,
           const ConvOptions& o)
    : options{o.strides, o.padding, o.input_dilation, o.kernel_dilation, o.feature_group_count},
      use_bias(o.use_bias),
      dtype(o.dtype) {
  const Shape shape =
      nn::conv_kernel_shape("nnx::Conv", kernel_size, in_features, out_features, options);
  kernel = o.kernel_init(rngs.params(), shape, o.param_dtype);
  bias = parameter(o.use_bias, o.bias_init, rngs, Shape{out_features}, o.param_dtype);
}

Array Conv::operator()(const Array& x) const {
  return nn::conv("nnx::Conv", x, kernel, if_used(bias, use_bias), options, dtype);
}

Embed::Embed(int64_t num_embeddings, int64_t features, Rngs& rngs, const EmbedOptions& o)
    : embedding(o.embedding_init(rngs.params(), Shape{num_embeddings, features}, o.param_dtype)),
      dtype(o.dtype) {}

Array Embed::operator()(const Array& tokens) const { return nn::embed(tokens, embedding, dtype); }
Array Embed::attend(const Array& x) const { return nn::attend(x, embedding, dtype); }

LayerNorm::LayerNorm(int64_t num_features, Rngs& rngs, const LayerNormOptions& o)
    : scale(parameter(o.use_scale, initializers::ones(), rngs, Shape{num_features}, o.param_dtype)),
      bias(parameter(o.use_bias, initializers::zeros(), rngs, Shape{num_features}, o.param_dtype)),
      epsilon(o.epsilon),
      use_bias(o.use_bias),
      use_scale(o.use_scale),
      dtype(o.dtype) {}

Array LayerNorm::operator()(const Array& x) const {
  if (use_scale || use_bias)
    check_features("nnx::LayerNorm", x, -1, (use_scale ? scale : bias).size());
  const int64_t last = normalize_axis("nnx::LayerNorm", -1, x.ndim());
  return nn::normalize(x, nn::moments(x, {last}, {}), if_used(scale, use_scale),
                       if_used(bias, use_bias), {{last}, last, epsilon, dtype});
}

GroupNorm::GroupNorm(int64_t num_features, Rngs& rngs, const GroupNormOptions& o)
    : scale(parameter(o.use_scale, initializers::ones(), rngs, Shape{num_features}, o.param_dtype)),
      bias(parameter(o.use_bias, initializers::zeros(), rngs, Shape{num_features}, o.param_dtype)),
      num_groups(nn::groups_of("nnx::GroupNorm", num_features, o.num_groups, o.group_size)),
      epsilon(o.epsilon),
      use_bias(o.use_bias),
      use_scale(o.use_scale),
      reduction_axes(o.reduction_axes),
      axis_name(o.axis_name),
      dtype(o.dtype) {}

Array GroupNorm::operator()(const Array& x) const {
  if (use_scale || use_bias)
    check_features("nnx::GroupNorm", x, -1, (use_scale ? scale : bias).size());
  const Array own_scale = if_used(scale, use_scale), own_bias = if_used(bias, use_bias);
  const Array wide = as_dtype(x, nn::common_dtype({x, own_scale, own_bias}, dtype));
  return nn::group_norm("nnx::GroupNorm", wide, own_scale, own_bias,
                        {num_groups, reduction_axes, epsilon, axis_name, dtype});
}

BatchNorm::BatchNorm(int64_t num_features, Rngs& rngs, const BatchNormOptions& o)
    : scale(parameter(o.use_scale, initializers::ones(), rngs, Shape{num_features}, o.param_dtype)),
      bias(parameter(o.use_bias, initializers::zeros(), rngs, Shape{num_features}, o.param_dtype)),
      mean{zeros(Shape{num_features}, float32)},
      var{ones(Shape{num_features}, float32)},
      use_running_average(o.use_running_average),
      axis(o.axis),
      momentum(o.momentum),
      epsilon(o.epsilon),
      use_bias(o.use_bias),
      use_scale(o.use_scale),
      axis_name(o.axis_name),
      dtype(o.dtype) {}

Array BatchNorm::normalized(const Array& x, const Array& mean_, const Array& variance) const {
  const int64_t feature = normalize_axis("nnx::BatchNorm", axis, x.ndim());
  return nn::normalize(x, {mean_, variance}, if_used(scale, use_scale), if_used(bias, use_bias),
                       {nn::all_axes_but(feature, x.ndim()), feature, epsilon, dtype});
}

Array BatchNorm::operator()(const Array& x) {
  if (use_running_average) return std::as_const(*this)(x);
  nn::expect_batch("nnx::BatchNorm");
  check_features("nnx::BatchNorm", x, axis, mean.value.size());
  const int64_t feature = normalize_axis("nnx::BatchNorm", axis, x.ndim());
  const nn::Moments batch = nn::moments(x, nn::all_axes_but(feature, x.ndim()), axis_name);
  mean.value = momentum * mean.value + (1 - momentum) * batch.mean;
  var.value = momentum * var.value + (1 - momentum) * batch.variance;
  return normalized(x, batch.mean, batch.variance);
}

Array BatchNorm::operator()(const Array& x) const {
  if (!use_running_average)
    value_error("nnx::BatchNorm",
                "expected a module that may change, in training: take the model by value (or by "
                "reference) and give it back, or call nnx::eval(model)");
  check_features("nnx::BatchNorm", x, axis, mean.value.size());
  return normalized(x, mean.value, var.value);
}

Dropout::Dropout(double rate_, Rngs& streams, const DropoutOptions& o)
    : rate(rate_),
      broadcast_dims(o.broadcast_dims),
      deterministic(o.deterministic),
      rngs(streams[o.rng_collection].fork()) {}

Array Dropout::operator()(const Array& x) {
  if (deterministic || rate == 0) return x;
  return nn::dropout(x, rate, rngs(), broadcast_dims);
}

Array Dropout::operator()(const Array& x) const {
  if (!deterministic && rate != 0)
    value_error("nnx::Dropout",
                "expected a module that may change, in training: take the model by value (or by "
                "reference) and give it back, or call nnx::eval(model)");
  return x;
}

}  // namespace tessera::nnx
