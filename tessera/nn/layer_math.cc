#include "tessera/nn/layer_math.h"

#include <algorithm>
#include <cmath>

#include "tessera/compile/composite.h"
#include "tessera/numpy/collectives.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/random/random.h"
#include "tessera/trace/example_scope.h"

namespace tessera::nn {

using namespace ir;

namespace {

// Returns the arrays that are defined: composites take no undefined ones.
std::vector<Array> present(std::initializer_list<Array> arrays) {
  std::vector<Array> out;
  for (const Array& x : arrays)
    if (x.defined()) out.push_back(x);
  return out;
}

}  // namespace

DType common_dtype(std::initializer_list<Array> arrays, OptionalDType dtype) {
  if (dtype) return canonical_dtype(*dtype);
  std::vector<Array> defined;
  for (const Array& x : arrays)
    if (x.defined()) defined.push_back(x);
  return to_inexact(result_type(defined).dtype);
}

Dims all_axes_but(int64_t axis, int64_t rank) {
  Dims out;
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis) out.push_back(d);
  return out;
}

Array dense(const Array& x, const Array& kernel, const Array& bias, OptionalDType dtype) {
  return dense_general(x, kernel, bias, 1, dtype);
}

Array dense_general(const Array& x, const Array& kernel, const Array& bias, int64_t axes,
                    OptionalDType dtype) {
  if (x.ndim() < axes)
    shape_error("Dense", "expected inputs of at least {} dimensions, got {}", axes,
                describe(x.type()));
  for (int64_t d = 0; d < axes; ++d)
    if (x.shape()[x.ndim() - axes + d] != kernel.shape()[d])
      shape_error("Dense",
                  "expected inputs whose last dimensions are the first {} of the kernel {}, "
                  "got {}",
                  axes, describe(kernel.type()), describe(x.type()));
  struct DenseParams {
    int64_t axes;
    DType dtype;
  };
  const DType common = common_dtype({x, kernel, bias}, dtype);
  return composite("nn_dense", DenseParams{axes, common}, present({x, kernel, bias}),
                   [](const DenseParams& p, std::span<const Array> a) {
                     const Array y =
                         tensordot(as_dtype(a[0], p.dtype), as_dtype(a[1], p.dtype), p.axes);
                     return a.size() > 2 ? y + as_dtype(a[2], p.dtype) : y;
                   });
}

Array embed(const Array& tokens, const Array& table, OptionalDType dtype) {
  if (!is_integer(tokens.dtype()))
    type_error("Embed", "expected integer tokens, got {}; convert them with astype",
               describe(tokens.type()));
  struct EmbedParams {
    DType dtype;
  };
  const DType common = dtype ? canonical_dtype(*dtype) : table.dtype();
  return composite(
      "nn_embed", EmbedParams{common}, {tokens, table},
      [](const EmbedParams& p, std::span<const Array> a) {
        const Array rows = as_dtype(a[1], p.dtype);
        const int64_t count = rows.shape(0), features = rows.shape(1), rank = a[0].ndim();
        Shape shape = a[0].shape();
        shape.push_back(features);
        if (count == 1) return broadcast_to(rows, shape);
        const Array wide = itemsize(a[0].dtype()) < 4 ? as_dtype(a[0], int32) : a[0];
        const Array places = where(wide < 0, wide + count, wide);
        return lax::gather(
            rows, expand_dims(places, rank),
            {.offset_dims = {rank}, .collapsed_slice_dims = {0}, .start_index_map = {0}},
            {1, features});
      });
}

Array attend(const Array& x, const Array& table, OptionalDType dtype) {
  const DType common = common_dtype({x, table}, dtype);
  return dot(as_dtype(x, common), matrix_transpose(as_dtype(table, common)));
}

void expect_batch(const char* op) {
  if (!tracing::ExampleScope::active()) return;
  value_error(op,
              "expected a batch to take statistics of, got one example, whose gradient is clipped "
              "by itself; use LayerNorm or GroupNorm, or running averages (nnx::eval(model))");
}

Moments moments(const Array& x, const Dims& axes, const std::string& axis_name) {
  struct MomentsParams {
    Dims axes;
    std::string axis_name;
  };
  const std::vector<Array> out =
      composite("nn_moments", MomentsParams{axes, axis_name}, {x},
                [](const MomentsParams& p, std::span<const Array> a) {
                  const DType dtype = promote_types({a[0].dtype(), false}, {float32, false}).dtype;
                  const Array wide = as_dtype(a[0], dtype);
                  Array first = mean(wide, {.axis = p.axes}),
                        second = mean(square(abs(wide)), {.axis = p.axes});
                  if (!p.axis_name.empty()) {
                    first = pmean(first, p.axis_name);
                    second = pmean(second, p.axis_name);
                  }
                  // Rounding can make the difference negative.
                  return std::vector<Array>{first, maximum(0.0, second - square(abs(first)))};
                });
  return {out[0], out[1]};
}

Array normalize(const Array& x, const Moments& m, const Array& scale, const Array& bias,
                const NormalizeOptions& o) {
  struct NormalizeParams {
    Dims reduced;
    int64_t feature_axis;
    double epsilon;
    DType dtype;
    bool has_scale, has_bias;
  };
  const DType common = common_dtype({x, scale, bias}, o.dtype);
  return composite("nn_normalize",
                   NormalizeParams{o.reduced, o.feature_axis, o.epsilon, common, scale.defined(),
                                   bias.defined()},
                   present({x, m.mean, m.variance, scale, bias}),
                   [](const NormalizeParams& p, std::span<const Array> a) {
                     Shape feature_shape;
                     for (int64_t d = 0; d < a[0].ndim(); ++d)
                       feature_shape.push_back(d == p.feature_axis ? a[0].shape()[d] : 1);
                     Array factor = rsqrt(expand_dims(a[2], p.reduced) + p.epsilon);
                     size_t next = 3;
                     if (p.has_scale) factor = factor * reshape(a[next++], feature_shape);
                     Array y = (a[0] - expand_dims(a[1], p.reduced)) * factor;
                     if (p.has_bias) y = y + reshape(a[next], feature_shape);
                     return as_dtype(y, p.dtype);
                   });
}

int64_t groups_of(const char* op, int64_t features, std::optional<int64_t> num_groups,
                  std::optional<int64_t> group_size) {
  if (num_groups.has_value() == group_size.has_value())
    value_error(op,
                "expected either num_groups or group_size, got {}; for the latter pass num_groups "
                "= std::nullopt",
                num_groups ? "both" : "neither");
  const int64_t by = num_groups ? *num_groups : *group_size;
  if (by <= 0 || features % by != 0)
    value_error(op, "expected a {} that divides the {} features, got {}",
                num_groups ? "num_groups" : "group_size", features, by);
  return num_groups ? by : features / by;
}

Array group_norm(const char* op, const Array& x, const Array& scale, const Array& bias,
                 const GroupNormOptions& o) {
  const int64_t last = x.ndim() - 1;
  Dims axes = o.reduction_axes;
  if (axes.empty()) {
    for (int64_t d = 1; d < last; ++d) axes.push_back(d);
    axes.push_back(last);
  }
  axes = Axes(axes).ascending(op, x.ndim());
  if (axes.back() != last)
    value_error(op,
                "expected reduction axes with the last one, that of the features, got {} for {}",
                axes, describe(x.type()));
  groups_of(op, x.shape(-1), o.num_groups, std::nullopt);
  Shape grouped = x.shape();
  grouped[last] = o.num_groups;
  grouped.push_back(x.shape(-1) / o.num_groups);
  Dims within = axes;  // dimensions of `grouped`
  within.back() = last + 1;
  Moments m = moments(reshape(x, grouped), within, o.axis_name);
  const Dims kept(axes.begin(), axes.end() - 1);
  m.mean = repeat(m.mean, grouped.back(), -1);
  m.variance = repeat(m.variance, grouped.back(), -1);
  return normalize(x, m, scale, bias, {kept, last, o.epsilon, o.dtype});
}

Array dropout(const Array& x, double rate, const random::Key& key, const Dims& broadcast_dims) {
  if (!(rate >= 0 && rate <= 1)) value_error("Dropout", "expected a rate in [0, 1], got {}", rate);
  if (rate == 0) return x;
  if (rate == 1) return zeros_like(x);  // not 0 / 0, whose derivative is NaN
  struct DropoutParams {
    double rate;
    Shape shape;  // of the random mask
  };
  Shape shape = x.shape();
  for (int64_t axis : broadcast_dims) shape[normalize_axis("Dropout", axis, x.ndim())] = 1;
  return composite("nn_dropout", DropoutParams{rate, shape}, {x, key.data},
                   [](const DropoutParams& p, std::span<const Array> a) {
                     const double keep = 1 - p.rate;
                     const Array kept = random::bernoulli({a[1]}, keep, p.shape);
                     return where(kept, a[0] / keep, zeros_like(a[0]));
                   });
}

Array attention(const Array& query, const Array& key, const Array& value,
                const AttentionOptions& o) {
  const DType dtype = common_dtype({query, key, value}, o.dtype);
  const Array depth = full(Shape{}, std::sqrt(static_cast<double>(query.shape(-1))), dtype);
  Array weights =
      einsum("...qhd,...khd->...hqk", {as_dtype(query, dtype) / depth, as_dtype(key, dtype)});
  if (o.mask.defined()) weights = where(o.mask, weights, full(Shape{}, finfo(dtype).min, dtype));
  weights = as_dtype(softmax(weights), dtype);
  if (o.dropout_key && o.dropout_rate > 0) {
    Shape shape(weights.shape());
    if (o.broadcast_dropout)
      for (int64_t d = 0; d + 2 < shape.rank(); ++d) shape[d] = 1;
    const Array kept = random::bernoulli(*o.dropout_key, 1 - o.dropout_rate, shape);
    weights = weights * (astype(kept, dtype) / full(Shape{}, 1 - o.dropout_rate, dtype));
  }
  return einsum("...hqk,...khd->...qhd", {weights, as_dtype(value, dtype)});
}

}  // namespace tessera::nn
