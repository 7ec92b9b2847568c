#include "tessera/numpy/attention.h"

#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"

namespace tessera {

using namespace ir;

namespace {

constexpr const char* kName = "dot_product_attention";

Array with_four_dimensions(const Array& x) {
  Shape shape = x.shape();
  while (shape.rank() < 4) shape.insert(shape.begin(), 1);
  return reshape(x, shape);
}

// The static params of the composite. Optional arrays are further arguments, in this order: bias,
// mask, query lengths, key lengths.
struct AttentionParams {
  double scale;
  bool is_causal, has_window;
  int64_t left, right;
  bool has_bias, has_mask, has_query_lengths, has_key_lengths;
};

void check(const Array& query, const Array& key, const Array& value,
           const DotProductAttentionOptions& o) {
  if (query.ndim() != key.ndim() || key.shape() != value.shape() ||
      (query.ndim() != 3 && query.ndim() != 4) || query.shape(-1) != key.shape(-1) ||
      (query.ndim() == 4 && query.shape(0) != key.shape(0)))
    shape_error(
        kName,
        "expected a query (batch, length, heads, depth), and a key and a value of one shape "
        "with its batch and depth, got {}, {} and {}",
        describe(query.type()), describe(key.type()), describe(value.type()));
  if (key.shape(-2) == 0 || query.shape(-2) % key.shape(-2) != 0)
    shape_error(kName, "expected a multiple of the key's {} heads in the query, got {}",
                key.shape(-2), query.shape(-2));
  if (query.dtype() != key.dtype() || key.dtype() != value.dtype() || !is_floating(query.dtype()))
    type_error(kName, "expected one floating-point dtype, got {}, {} and {}; convert with astype",
               query.dtype(), key.dtype(), value.dtype());
  if (o.mask.defined() && o.mask.dtype() != bool_)
    type_error(kName, "expected a bool mask, got {}; pass numbers to add as the bias",
               describe(o.mask.type()));
  const int64_t batch = query.ndim() == 4 ? query.shape(0) : 1;
  for (const Array* x : {&o.bias, &o.mask}) {
    if (!x->defined()) continue;
    const Shape all{batch, query.shape(-2), query.shape(-3), key.shape(-3)};
    if (x->ndim() > 4 || broadcast_shapes(kName, std::vector<Shape>{x->shape(), all}) != all)
      shape_error(kName, "expected a bias and a mask that broadcast to {}, got {}", all,
                  describe(x->type()));
  }
  for (const Array* x : {&o.query_seq_lengths, &o.key_value_seq_lengths})
    if (x->defined() && (x->shape() != Shape{batch} || !is_integer(x->dtype())))
      shape_error(kName, "expected an integer length for each of a batch of {}, got {}", batch,
                  describe(x->type()));
}

// Returns x with its heads as two dimensions: (heads of the key, heads of the query that share
// one).
Array grouped(const Array& x, int64_t groups) {
  const Shape& s = x.shape();
  if (s[1] == 1) return reshape(x, {s[0], 1, 1, s[2], s[3]});
  return reshape(x, {s[0], groups, s[1] / groups, s[2], s[3]});
}

Array attend(const AttentionParams& p, std::span<const Array> a) {
  const Array query = with_four_dimensions(a[0]), key = with_four_dimensions(a[1]),
              value = with_four_dimensions(a[2]);
  const int64_t batch = query.shape(0), length = query.shape(1), heads = query.shape(2),
                groups = key.shape(2), key_length = key.shape(1);
  const DType wide = promote_types({query.dtype(), false}, {float32, false}).dtype;
  size_t next = 3;

  Array logits =
      einsum("btkgh,bskh->bkgts",
             {reshape(query, {batch, length, groups, heads / groups, query.shape(3)}), key}, wide);
  logits = logits * p.scale;
  if (p.has_bias)
    logits = as_dtype(logits + grouped(with_four_dimensions(a[next++]), groups), wide);

  Array keep;
  const auto also = [&](const Array& x) { keep = keep.defined() ? logical_and(keep, x) : x; };
  const Array i = reshape(arange(length), {length, 1}), j = reshape(arange(key_length), {1, -1});
  if (p.has_mask) also(grouped(with_four_dimensions(a[next++]), groups));
  if (p.is_causal) also(j <= i);
  if (p.has_window) also(logical_and(i <= j + p.left, i >= j - p.right));
  const Array counts = p.has_query_lengths ? reshape(a[next++], {batch, 1, 1, 1, 1}) : Array();
  if (p.has_query_lengths) also(i < counts);
  if (p.has_key_lengths) also(j < reshape(a[next], {batch, 1, 1, 1, 1}));
  // Not -inf: a row whose mask is false everywhere gets the mean of all values, not NaN.
  if (keep.defined()) logits = where(keep, logits, -0.7 * finfo(float32).max);

  const Array weights = as_dtype(softmax(as_dtype(logits, float32)), key.dtype());
  Array out = einsum("bkgts,bskh->btkgh", {weights, value});
  if (p.has_query_lengths) {
    const Array counted = reshape(arange(length), {1, -1, 1, 1, 1}) < counts;
    out = where(counted, out, zeros_like(out));
  }
  return reshape(out, a[0].shape());
}

}  // namespace

Array dot_product_attention(const Array& query, const Array& key, const Array& value,
                            const DotProductAttentionOptions& o) {
  check(query, key, value, o);
  const auto window = o.local_window_size.value_or(std::pair<int64_t, int64_t>(0, 0));
  const AttentionParams params{
      o.scale.value_or(1 / std::sqrt(static_cast<double>(query.shape(-1)))),
      o.is_causal,
      o.local_window_size.has_value(),
      window.first,
      window.second,
      o.bias.defined(),
      o.mask.defined(),
      o.query_seq_lengths.defined(),
      o.key_value_seq_lengths.defined()};
  std::vector<Array> args{query, key, value};
  for (const Array* x : {&o.bias, &o.mask, &o.query_seq_lengths, &o.key_value_seq_lengths})
    if (x->defined()) args.push_back(*x);
  return composite(kName, params, std::span<const Array>(args), attend);
}

}  // namespace tessera
