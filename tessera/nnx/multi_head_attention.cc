#include "tessera/nnx/multi_head_attention.h"

#include "tessera/ir/format.h"
#include "tessera/nn/layer_math.h"
#include "tessera/numpy/attention.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"

namespace tessera::nnx {

using namespace ir;

namespace {

constexpr const char* kName = "nnx::MultiHeadAttention";

Shape concat_shapes(const Shape& a, const Shape& b) {
  Shape out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

Array both(const Array& a, const Array& b) {
  if (!a.defined()) return b;
  return b.defined() ? logical_and(a, b) : a;
}

void check_features(const char* what, const Array& x, int64_t features) {
  if (x.ndim() < 2 || x.shape(-1) != features)
    shape_error(kName, "expected a {} of (..., length, {}), got {}", what, features,
                describe(x.type()));
}

}  // namespace

LinearGeneral::LinearGeneral(const Shape& in_features, const Shape& out_features, Rngs& rngs,
                             const LinearOptions& o)
    : axes(in_features.rank()), use_bias(o.use_bias), dtype(o.dtype) {
  // A kernel is drawn as a matrix, (inputs, outputs), and reshaped afterwards.
  const Shape matrix{in_features.elements(), out_features.elements()};
  kernel = reshape(o.kernel_init(rngs.params(), matrix, o.param_dtype),
                   concat_shapes(in_features, out_features));
  bias = use_bias
             ? reshape(o.bias_init(rngs.params(), Shape{matrix[1]}, o.param_dtype), out_features)
             : zeros(Shape{0}, o.param_dtype);
}

Array LinearGeneral::operator()(const Array& x) const {
  return nn::dense_general(x, kernel, use_bias ? bias : Array(), axes, dtype);
}

MultiHeadAttention::MultiHeadAttention(int64_t num_heads, int64_t in_features, Rngs& streams,
                                       const AttentionOptions& o)
    : dropout_rate(o.dropout_rate),
      broadcast_dropout(o.broadcast_dropout),
      deterministic(o.deterministic),
      decode(o.decode),
      dtype(o.dtype) {
  const int64_t features = o.qkv_features.value_or(in_features),
                kv_heads = o.num_kv_heads.value_or(num_heads),
                kv_features = o.in_kv_features.value_or(in_features);
  if (num_heads < 1 || features % num_heads != 0)
    value_error(kName, "expected a number of heads that divides the {} features, got {}", features,
                num_heads);
  if (kv_heads < 1 || num_heads % kv_heads != 0)
    value_error(kName, "expected a number of key and value heads that divides the {} heads, got {}",
                num_heads, kv_heads);
  const int64_t depth = features / num_heads;
  LinearOptions linear{.use_bias = o.use_bias,
                       .dtype = o.dtype,
                       .param_dtype = o.param_dtype,
                       .kernel_init = o.kernel_init,
                       .bias_init = o.bias_init};
  query = LinearGeneral({in_features}, {num_heads, depth}, streams, linear);
  key = LinearGeneral({kv_features}, {kv_heads, depth}, streams, linear);
  value = LinearGeneral({kv_features}, {kv_heads, depth}, streams, linear);
  if (o.normalize_qk) {
    const LayerNormOptions norm{.use_bias = false, .dtype = o.dtype, .param_dtype = o.param_dtype};
    query_ln = LayerNorm(depth, streams, norm);
    key_ln = LayerNorm(depth, streams, norm);
  }
  linear.kernel_init = o.out_kernel_init.value_or(o.kernel_init);
  linear.bias_init = o.out_bias_init.value_or(o.bias_init);
  out = LinearGeneral({num_heads, depth}, {o.out_features.value_or(in_features)}, streams, linear);
  if (dropout_rate > 0) rngs = streams["dropout"].fork();
}

MultiHeadAttention::Projected MultiHeadAttention::project(const AttentionInputs& in) const {
  if (!in.key.defined() && in.value.defined())
    value_error(kName, "expected a key where there is a value, got none; give both as the key");
  const Array& k = in.key.defined() ? in.key : in.query;
  const Array& v = in.value.defined() ? in.value : k;
  check_features("query", in.query, query.kernel.shape()[0]);
  check_features("key", k, key.kernel.shape()[0]);
  check_features("value", v, value.kernel.shape()[0]);
  Projected p{query(in.query), key(k), value(v), in.mask, in.is_causal};
  if (query_ln) p.query = (*query_ln)(p.query);
  if (key_ln) p.key = (*key_ln)(p.key);
  return p;
}

Array MultiHeadAttention::attend(const Projected& p,
                                 const std::optional<random::Key>& dropout_key) const {
  Array mask = p.mask;
  if (p.is_causal) mask = both(mask, tril(ones(Shape{p.query.shape(-3), p.key.shape(-3)}, bool_)));
  // Each head of key and value is repeated for the heads of the query that share it.
  const int64_t group = p.query.shape(-2) / p.key.shape(-2);
  const auto shared = [&](const Array& x) { return group == 1 ? x : repeat(x, group, -2); };
  return out(nn::attention(p.query, shared(p.key), shared(p.value),
                           {.mask = mask,
                            .dropout_rate = dropout_rate,
                            .dropout_key = dropout_key,
                            .broadcast_dropout = broadcast_dropout,
                            .dtype = dtype}));
}

Array MultiHeadAttention::operator()(const AttentionInputs& inputs) {
  Projected p = project(inputs);
  if (decode) {
    if (!cache)
      value_error(kName, "expected a cache in decoding, got none; call init_cache(shape) first");
    Shape one = cache->key.shape();
    one[one.rank() - 3] = 1;
    if (p.key.shape() != one)
      shape_error(kName, "expected one position at a time, keys of {}, got {}", one,
                  describe(p.key.type()));
    const int64_t rank = one.rank(), length = cache->key.shape(-3);
    const auto written = [&](const Array& all, const Array& next) {
      return dynamic_update_slice_in_dim(all, next, cache->index, rank - 3);
    };
    cache->key = p.key = written(cache->key, p.key);
    cache->value = p.value = written(cache->value, p.value);
    p.mask = both(p.mask, arange(length) <= cache->index);
    cache->index = cache->index + 1;
  }
  std::optional<random::Key> dropout_key;
  if (rngs && !deterministic) dropout_key = (*rngs)();
  return attend(p, dropout_key);
}

Array MultiHeadAttention::operator()(const AttentionInputs& inputs) const {
  if (decode || (rngs && !deterministic))
    value_error(kName,
                "expected a module that may change, in {}: take the model by value (or by "
                "reference) and give it back, or call nnx::eval(model)",
                decode ? "decoding" : "training");
  return attend(project(inputs), std::nullopt);
}

void MultiHeadAttention::init_cache(const Shape& input_shape, DType cache_dtype) {
  if (input_shape.rank() < 2)
    shape_error(kName, "expected a shape (batch..., length, features), got {}", input_shape);
  Shape shape(input_shape.begin(), input_shape.end() - 1);
  shape = concat_shapes(shape, Shape(key.kernel.shape().begin() + 1, key.kernel.shape().end()));
  cache =
      AttentionCache{zeros(shape, cache_dtype), zeros(shape, cache_dtype), zeros(Shape{}, int32)};
}

}  // namespace tessera::nnx
