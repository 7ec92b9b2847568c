#include "tessera/numpy/quantile.h"

#include <algorithm>
#include <limits>

#include "tessera/compile/composite.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/sort.h"

namespace tessera {

using namespace ops;

namespace {

using namespace ops::array_math;

// Returns x with the axes moved to the end and merged into one dimension: [kept..., n].
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

// Returns the elements at the positions `place` (q's shape, float) of every row of [kept..., n]:
// [q..., kept...].
Array elements_at(const Array& sorted, const Array& place) {
  const Array i = lax::convert_element_type(place, int32);
  const int64_t last = sorted.ndim() - 1;
  IndexDims dims{.offset_dims = {}, .collapsed_slice_dims = {last}, .start_index_map = {last}};
  for (int64_t d = 0; d < last; ++d) dims.offset_dims.push_back(i.ndim() + d);
  Shape sizes = sorted.shape();
  sizes.back() = 1;
  return lax::gather(sorted, lax::expand_dims(i, {i.ndim()}), dims, sizes, IndexMode::kClip);
}

// Sorted rows, [kept..., n], and the quantiles to take of them. The arrays q and last have q's
// shape if all rows have the same number of elements. If NaNs are skipped, they have the shape
// [q..., kept...], because the numbers of elements differ.
struct Rows {
  Array sorted;
  Array q, last;  // the quantiles, and the position of each row's last element
  int64_t q_rank;
  bool skip_nan;

  Rows(const Array& rows, const Array& quantiles, bool skip)
      : q(quantiles), q_rank(quantiles.ndim()), skip_nan(skip) {
    if (!skip_nan) {
      sorted = in_order(rows);
      last = lax::full_like(q, static_cast<double>(rows.shape(-1) - 1));
      return;
    }
    const Array nan = lax::ne(rows, rows);
    sorted = in_order(
        lax::select(nan, lax::full_like(rows, std::numeric_limits<double>::quiet_NaN()), rows));
    const Array numbers = lax::reduce_sum(
        lax::convert_element_type(lax::bitwise_not(nan), q.dtype()), {rows.ndim() - 1});
    Shape shape = q.shape();
    shape.insert(shape.end(), numbers.shape().begin(), numbers.shape().end());
    q = lax::broadcast_in_dim(q, shape, iota_dims(q_rank));
    Dims kept;
    for (int64_t d = 0; d < numbers.ndim(); ++d) kept.push_back(q_rank + d);
    last = lax::broadcast_in_dim(numbers, shape, kept) - 1;
  }

  // Returns the elements at the positions `place`, one for each q: [q..., kept...].
  Array at(const Array& place) const {
    if (!skip_nan) return elements_at(sorted, place);
    const int64_t axis = sorted.ndim() - 1;
    const Array i =
        lax::convert_element_type(lax::max(lax::min(place, last), lax::full_like(place, 0)), int32);
    if (q_rank == 0)
      return lax::squeeze(lax::take_along(sorted, lax::expand_dims(i, {axis}), axis), {axis});
    return lax::move_dim(lax::take_along(sorted, lax::move_dim(i, 0, axis), axis), axis, 0);
  }
  Array like_elements(const Array& of_q, const Array& elements) const {
    return skip_nan ? of_q : lax::broadcast_in_dim(of_q, elements.shape(), iota_dims(of_q.ndim()));
  }

  static Array in_order(const Array& rows) {
    const std::vector<Array> operands{rows};
    return lax::sort(operands, -1)[0];
  }
};

Array quantile_of_rows(const Rows& rows, QuantileMethod method) {
  const Array at = rows.q * rows.last, low = lax::floor(at), high = lax::ceil(at),
              weight = at - low;
  switch (method) {
    case QuantileMethod::kLinear: {
      const Array a = lax::convert_element_type(rows.at(low), at.dtype()),
                  b = lax::convert_element_type(rows.at(high), at.dtype());
      return a * rows.like_elements(1 - weight, a) + b * rows.like_elements(weight, b);
    }
    case QuantileMethod::kLower:
      return rows.at(low);
    case QuantileMethod::kHigher:
      return rows.at(high);
    case QuantileMethod::kMidpoint:
      return (rows.at(low) + rows.at(high)) * 0.5;
    case QuantileMethod::kNearest: {
      const Array a = rows.at(low);
      return lax::select(rows.like_elements(weight <= 0.5, a), a, rows.at(high));
    }
    case QuantileMethod::kInvertedCdf:
      return rows.at(lax::ceil(rows.q * (rows.last + 1)) - 1);
  }
  __builtin_unreachable();
}

// Returns NaN for every quantile of every empty row: [q..., kept...].
Array quantiles_of_nothing(const Array& rows, const Array& q) {
  Shape shape = q.shape();
  shape.insert(shape.end(), rows.shape().begin(), rows.shape().end() - 1);
  return lax::full(shape, std::numeric_limits<double>::quiet_NaN(), rows.dtype());
}

Array quantile_named(const char* name, const Array& x, const Array& q,
                     const QuantileOptions& options, bool skip_nan) {
  if (q.ndim() > 1)
    shape_error(name, "expected a scalar or vector of quantiles, got {}", describe(q.type()));
  for (const Array* a : {&x, &q})
    if (is_complex(a->dtype()))
      type_error(name, "expected real numbers, got {}; take abs(z) or real(z)",
                 describe(a->type()));
  const Dims axes = options.axis.ascending(name, x.ndim());
  struct QuantileParams {
    std::string name;
    Dims axes;
    bool keepdims, skip_nan;
    QuantileMethod method;
  };
  return composite(
      name, QuantileParams{name, axes, options.keepdims, skip_nan, options.method}, {x, q},
      [](const QuantileParams& p, std::span<const Array> a) {
        const DType dtype = to_inexact(canonical_dtype(a[0].dtype()));
        const Array rows = rows_of(as_dtype(a[0], dtype), p.axes);
        if (rows.shape(-1) == 0 && !p.skip_nan)
          shape_error(p.name, "expected at least one element along the axes, got {}",
                      describe(a[0].type()));
        const Array at = as_dtype(a[1], to_inexact(canonical_dtype(a[1].dtype())));
        Array out = rows.shape(-1) == 0 ? quantiles_of_nothing(rows, at)
                                        : quantile_of_rows(Rows(rows, at, p.skip_nan), p.method);
        out = as_dtype(out, dtype);
        if (!p.skip_nan) {
          const Array none = lax::reduce_or(lax::ne(rows, rows), {rows.ndim() - 1});
          Dims kept;
          for (int64_t d = 0; d < none.ndim(); ++d) kept.push_back(at.ndim() + d);
          out = lax::select(lax::broadcast_in_dim(none, out.shape(), kept),
                            lax::full_like(out, std::numeric_limits<double>::quiet_NaN()), out);
        }
        if (!p.keepdims) return out;
        Shape shape = at.shape();
        for (int64_t d = 0; d < a[0].ndim(); ++d)
          shape.push_back(
              std::find(p.axes.begin(), p.axes.end(), d) != p.axes.end() ? 1 : a[0].shape()[d]);
        return lax::reshape(out, shape);
      });
}

Array percent(const Array& q) {
  return composite("percent", {}, {q}, [](const NoParams&, std::span<const Array> a) {
    return promote(a[0], Promotion::kInexact) / 100;
  });
}

QuantileOptions middle(const MedianOptions& options) {
  return {.axis = options.axis, .keepdims = options.keepdims, .method = QuantileMethod::kMidpoint};
}

}  // namespace

Array quantile(const Array& x, const Array& q, const QuantileOptions& options) {
  return quantile_named("quantile", x, q, options, false);
}
Array percentile(const Array& x, const Array& q, const QuantileOptions& options) {
  return quantile_named("percentile", x, percent(q), options, false);
}
Array median(const Array& x, const MedianOptions& options) {
  return quantile_named("median", x, 0.5, middle(options), false);
}

Array nanquantile(const Array& x, const Array& q, const QuantileOptions& options) {
  return quantile_named("nanquantile", x, q, options, true);
}
Array nanpercentile(const Array& x, const Array& q, const QuantileOptions& options) {
  return quantile_named("nanpercentile", x, percent(q), options, true);
}
Array nanmedian(const Array& x, const MedianOptions& options) {
  return quantile_named("nanmedian", x, 0.5, middle(options), true);
}

}  // namespace tessera
