#include "tessera/numpy/quantile.h"

#include <algorithm>

#include "tessera/compile/composite.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/array_math.h"
#include "tessera/ops/broadcast.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/reshape.h"
#include "tessera/ops/sort.h"

namespace tessera {
namespace {

using namespace array_math;

// The axes last, as one dimension: [kept..., n].
Array rows_of(const Array& x, const Dims& axes) {
  Dims order;
  Shape rows;
  int64_t n = 1;
  for (int64_t d = 0; d < x.ndim(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) != axes.end()) {
      n *= x.shape()[d];
    } else {
      order.push_back(d);
      rows.push_back(x.shape()[d]);
    }
  }
  order.insert(order.end(), axes.begin(), axes.end());
  rows.push_back(n);
  return lax::reshape(lax::transpose(x, order), rows);
}

// Elements `place` (q's shape, float) of every row of [kept..., n]: [q..., kept...].
Array elements_at(const Array& sorted, const Array& place) {
  const Array i = lax::convert_element_type(place, int32);
  const int64_t last = sorted.ndim() - 1;
  IndexDims dims{.offset_dims = {}, .collapsed_slice_dims = {last}, .start_index_map = {last}};
  for (int64_t d = 0; d < last; ++d) dims.offset_dims.push_back(i.ndim() + d);
  Shape sizes = sorted.shape();
  sizes.back() = 1;
  return lax::gather(sorted, lax::expand_dims(i, {i.ndim()}), dims, sizes, IndexMode::kClip);
}

Array quantile_of_rows(const Array& rows, const Array& q, QuantileMethod method) {
  const double n = static_cast<double>(rows.shape(-1));
  const std::vector<Array> operands{rows};
  const Array sorted = lax::sort(operands, -1)[0];
  const auto wide = [&](const Array& of_q, const Array& like) {
    return lax::broadcast_in_dim(of_q, like.shape(), iota_dims(q.ndim()));
  };
  const Array at = q * (n - 1), low = lax::floor(at), high = lax::ceil(at), weight = at - low;
  switch (method) {
    case QuantileMethod::kLinear: {
      const Array a = lax::convert_element_type(elements_at(sorted, low), q.dtype()),
                  b = lax::convert_element_type(elements_at(sorted, high), q.dtype());
      return a * wide(1 - weight, a) + b * wide(weight, b);
    }
    case QuantileMethod::kLower:
      return elements_at(sorted, low);
    case QuantileMethod::kHigher:
      return elements_at(sorted, high);
    case QuantileMethod::kMidpoint:
      return (elements_at(sorted, low) + elements_at(sorted, high)) * 0.5;
    case QuantileMethod::kNearest: {
      const Array a = elements_at(sorted, low);
      return lax::select(wide(weight <= 0.5, a), a, elements_at(sorted, high));
    }
    case QuantileMethod::kInvertedCdf:
      return elements_at(sorted, lax::ceil(q * n) - 1);
  }
  __builtin_unreachable();
}

Array quantile_named(const char* name, const Array& x, const Array& q,
                     const QuantileOptions& options) {
  if (q.ndim() > 1)
    shape_error(name, "expected a scalar or vector of quantiles, got {}", describe(q.type()));
  for (const Array* a : {&x, &q})
    if (is_complex(a->dtype()))
      type_error(name, "expected real numbers, got {}; take abs(z) or real(z)",
                 describe(a->type()));
  const Dims axes = options.axis.ascending(name, x.ndim());
  struct QuantileParams {
    Dims axes;
    bool keepdims;
    int64_t method;
  };
  return composite(
      name, QuantileParams{axes, options.keepdims, static_cast<int64_t>(options.method)}, {x, q},
      [&](std::span<const Array> a) {
        const DType dtype = to_inexact(canonical_dtype(a[0].dtype()));
        const Array rows = rows_of(as_dtype(a[0], dtype), axes);
        if (rows.shape(-1) == 0)
          shape_error(name, "expected at least one element along the axes, got {}",
                      describe(a[0].type()));
        const Array at = as_dtype(a[1], to_inexact(canonical_dtype(a[1].dtype())));
        Array out = as_dtype(quantile_of_rows(rows, at, options.method), dtype);
        const Array none = lax::reduce_or(lax::ne(rows, rows), {rows.ndim() - 1});
        Dims kept;
        for (int64_t d = 0; d < none.ndim(); ++d) kept.push_back(at.ndim() + d);
        out = lax::select(lax::broadcast_in_dim(none, out.shape(), kept),
                          lax::full_like(out, std::numeric_limits<double>::quiet_NaN()), out);
        if (!options.keepdims) return out;
        Shape shape = at.shape();
        for (int64_t d = 0; d < a[0].ndim(); ++d)
          shape.push_back(std::find(axes.begin(), axes.end(), d) != axes.end() ? 1
                                                                               : a[0].shape()[d]);
        return lax::reshape(out, shape);
      });
}

}  // namespace

Array quantile(const Array& x, const Array& q, const QuantileOptions& options) {
  return quantile_named("quantile", x, q, options);
}

Array percentile(const Array& x, const Array& q, const QuantileOptions& options) {
  const Array share = composite("percent", {}, {q}, [](std::span<const Array> a) {
    return promote(a[0], Promotion::kInexact) / 100;
  });
  return quantile_named("percentile", x, share, options);
}

Array median(const Array& x, const MedianOptions& options) {
  return quantile_named(
      "median", x, 0.5,
      {.axis = options.axis, .keepdims = options.keepdims, .method = QuantileMethod::kMidpoint});
}

}  // namespace tessera
