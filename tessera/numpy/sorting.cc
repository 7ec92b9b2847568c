#include "tessera/numpy/sorting.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/broadcast.h"
#include "tessera/ops/concatenate.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/convert.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/reduce_window.h"
#include "tessera/ops/reshape.h"
#include "tessera/ops/scatter.h"
#include "tessera/ops/select.h"
#include "tessera/ops/slice.h"
#include "tessera/ops/sort.h"

namespace tessera {
namespace {

struct AxisParams {
  int64_t axis = 0;
  bool flat = false, flag = false, has_dtype = false;
  DType dtype = float32;
  Dims sizes = {};
  double low = 0, high = 0;
};

// The axis in an array of the shape that `flat` makes it.
AxisParams axis_params(const char* name, const Array& x, std::optional<int64_t> axis) {
  AxisParams p{.flat = !axis};
  p.axis = axis ? normalize_axis(name, *axis, x.ndim()) : 0;
  return p;
}
Array arranged(const Array& x, const AxisParams& p) {
  return p.flat ? lax::reshape(x, {x.size()}) : x;
}

Array number(const Array& like, double value) { return lax::full_like(like, value); }

void expect_vector(const char* name, const Array& x) {
  if (x.ndim() != 1) shape_error(name, "expected a vector, got {}", describe(x.type()));
}

Array cumulate(const char* name, const Array& x, const CumulativeOptions& options,
               Array (*fold)(const Array&, int64_t, bool)) {
  AxisParams p = axis_params(name, x, options.axis);
  p.has_dtype = options.dtype.has_value();
  p.dtype = canonical_dtype(options.dtype.value_or(to_numeric(x.dtype())));
  return composite(name, p, {x}, [&](std::span<const Array> a) {
    return fold(as_dtype(arranged(a[0], p), p.dtype), p.axis, false);
  });
}

Array scan(const char* name, const Array& x, const RunningOptions& options,
           Array (*fold)(const Array&, int64_t, bool)) {
  AxisParams p = axis_params(name, x, options.axis);
  p.flag = options.reverse;
  return composite(name, p, {x},
                   [&](std::span<const Array> a) { return fold(a[0], p.axis, p.flag); });
}

// How many of the sorted vector stand before each value.
Array count_before(const Array& sorted, const Array& values, bool right) {
  const int64_t n = sorted.shape()[0];
  const Shape grid = [&] {
    Shape shape = values.shape();
    shape.push_back(n);
    return shape;
  }();
  const Array s = lax::broadcast_in_dim(sorted, grid, {values.ndim()}),
              v = lax::broadcast_in_dim(values, grid, iota_dims(values.ndim()));
  const Array before = right ? lax::bitwise_not(lax::lt(v, s)) : lax::lt(s, v);
  return lax::reduce_sum(lax::convert_element_type(before, int32), {values.ndim()});
}

}  // namespace

Array sort(const Array& x, const SortOptions& options) {
  AxisParams p = axis_params("sort", x, options.axis);
  p.flag = options.descending;
  return composite("sort", p, {x}, [&](std::span<const Array> a) {
    const std::vector<Array> operands{arranged(a[0], p)};
    return lax::sort(operands, p.axis, 1, p.flag)[0];
  });
}

Array argsort(const Array& x, const SortOptions& options) {
  AxisParams p = axis_params("argsort", x, options.axis);
  p.flag = options.descending;
  p.dtype = default_int();
  return composite("argsort", p, {x}, [&](std::span<const Array> a) {
    const Array flat = arranged(a[0], p);
    const std::vector<Array> operands{flat, lax::iota(p.dtype, flat.shape(), p.axis)};
    return lax::sort(operands, p.axis, 1, p.flag)[1];
  });
}

std::pair<Array, Array> top_k(const Array& x, int64_t k) {
  std::vector<Array> out =
      composite("top_k", AxisParams{.axis = k}, {x}, [&](std::span<const Array> a) {
        auto [values, places] = lax::top_k(a[0], k);
        return std::vector<Array>{values, places};
      });
  return {out[0], out[1]};
}

Array cumsum(const Array& x, const CumulativeOptions& options) {
  return cumulate("cumsum", x, options, lax::cumsum);
}
Array cumprod(const Array& x, const CumulativeOptions& options) {
  return cumulate("cumprod", x, options, lax::cumprod);
}
Array cummax(const Array& x, const RunningOptions& options) {
  return scan("cummax", x, options, lax::cummax);
}
Array cummin(const Array& x, const RunningOptions& options) {
  return scan("cummin", x, options, lax::cummin);
}
Array cumlogsumexp(const Array& x, const RunningOptions& options) {
  return scan("cumlogsumexp", x, options, lax::cumlogsumexp);
}

Array quantile(const Array& x, const Array& q, const QuantileOptions& options) {
  if (q.ndim() > 1)
    shape_error("quantile", "expected a scalar or vector of quantiles, got {}", describe(q.type()));
  AxisParams p = axis_params("quantile", x, options.axis);
  p.flag = options.keepdims;
  p.sizes = x.shape();
  return composite("quantile", p, {x, q}, [&](std::span<const Array> a) {
    const DType dtype = to_inexact(a[0].dtype());
    if (is_complex(dtype))
      type_error("quantile", "expected real numbers, got {}", describe(a[0].type()));
    const Array flat = as_dtype(arranged(a[0], p), dtype);
    const int64_t n = flat.shape()[p.axis];
    if (n == 0)
      shape_error("quantile", "expected at least one element along the axis, got {}",
                  describe(a[0].type()));
    const std::vector<Array> operands{lax::move_dim(flat, p.axis, flat.ndim() - 1)};
    const Array sorted = lax::sort(operands, -1)[0];
    // Places between elements: [q..., rows...] of the sorted rows.
    const Array at =
        lax::mul(as_dtype(a[1], dtype), lax::full(a[1].shape(), static_cast<double>(n - 1), dtype));
    const Array low = lax::floor(at), high = lax::ceil(at);
    Shape rows(sorted.shape().begin(), sorted.shape().end() - 1);
    Shape result = a[1].shape();
    result.insert(result.end(), rows.begin(), rows.end());
    const Dims q_dims = iota_dims(a[1].ndim());
    auto pick = [&](const Array& place) {
      const Array i = lax::convert_element_type(place, int32);
      IndexDims dims{.offset_dims = {},
                     .collapsed_slice_dims = {rows.rank()},
                     .start_index_map = {rows.rank()}};
      Shape sizes = rows;
      sizes.push_back(1);
      for (int64_t d = 0; d < rows.rank(); ++d) dims.offset_dims.push_back(i.ndim() + d);
      return lax::gather(sorted, lax::expand_dims(i, {i.ndim()}), dims, sizes, IndexMode::kClip);
    };
    const Array weight = lax::broadcast_in_dim(lax::sub(at, low), result, q_dims);
    const Array a_low = pick(low), a_high = pick(high);
    Array out =
        lax::add(lax::mul(a_low, lax::sub(number(weight, 1), weight)), lax::mul(a_high, weight));
    // NaN stands last.
    const Array last = lax::broadcast_in_dim(
        lax::reshape(lax::slice_in_dim(sorted, n - 1, n, 1, rows.rank()), rows), result, [&] {
          Dims to;
          for (int64_t d = 0; d < rows.rank(); ++d) to.push_back(q_dims.rank() + d);
          return to;
        }());
    out = lax::select(lax::ne(last, last), last, out);
    if (!p.flag) return out;
    Shape kept(a[1].shape());
    for (int64_t d = 0; d < p.sizes.rank(); ++d)
      kept.push_back(p.flat || d == p.axis ? 1 : p.sizes[d]);
    return lax::reshape(out, kept);
  });
}

Array percentile(const Array& x, const Array& q, const QuantileOptions& options) {
  const Array fraction = composite("percent", {}, {q}, [](std::span<const Array> a) {
    const Array inexact = as_dtype(a[0], to_inexact(a[0].dtype()), a[0].weak_type());
    return lax::div(inexact, number(inexact, 100));
  });
  return quantile(x, fraction, options);
}

Array median(const Array& x, const QuantileOptions& options) {
  return quantile(x, Array(0.5), options);
}

Array searchsorted(const Array& sorted, const Array& values, bool right) {
  expect_vector("searchsorted", sorted);
  return composite("searchsorted", AxisParams{.flag = right}, {sorted, values},
                   [&](std::span<const Array> a) {
                     const std::vector<Array> same = promote_dtypes(a);
                     return as_dtype(count_before(same[0], same[1], right), default_int());
                   });
}

Array digitize(const Array& x, const Array& bins, bool right) {
  expect_vector("digitize", bins);
  return searchsorted(bins, x, !right);
}

Array bincount(const Array& x, int64_t length, const Array& weights) {
  expect_vector("bincount", x);
  if (!is_integer(x.dtype()))
    type_error("bincount", "expected integers, got {}; convert them", describe(x.type()));
  if (length < 0) value_error("bincount", "expected a length >= 0, got {}", length);
  if (weights.defined() && weights.shape() != x.shape())
    shape_error("bincount", "expected one weight an element, got {} for {}",
                describe(weights.type()), describe(x.type()));
  std::vector<Array> args{x};
  if (weights.defined()) args.push_back(weights);
  const AxisParams p{.flag = weights.defined(), .dtype = default_int(), .sizes = {length}};
  return composite("bincount", p, args, [&](std::span<const Array> a) {
    const Array add = a.size() > 1 ? a[1] : lax::full(a[0].shape(), 1, p.dtype);
    const IndexDims dims{.offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
    return lax::scatter(lax::full({length}, 0, add.dtype()), lax::expand_dims(a[0], {1}), add, dims,
                        ScatterKind::kAdd);
  });
}

std::pair<Array, Array> histogram(const Array& x, const HistogramOptions& options) {
  const int64_t bins = options.bins;
  if (bins < 1) value_error("histogram", "expected at least one bin, got {}", bins);
  if (!options.range && x.size() == 0)
    shape_error("histogram", "expected elements or a range, got {}", describe(x.type()));
  AxisParams p{.flag = options.range.has_value(), .sizes = {bins}};
  if (options.range) std::tie(p.low, p.high) = *options.range;
  std::vector<Array> out = composite("histogram", p, {x}, [&](std::span<const Array> a) {
    const DType dtype = to_inexact(a[0].dtype());
    const Array flat = as_dtype(lax::reshape(a[0], {a[0].size()}), dtype);
    Array low = options.range ? lax::full({}, p.low, dtype) : lax::reduce_min(flat, {0}),
          high = options.range ? lax::full({}, p.high, dtype) : lax::reduce_max(flat, {0});
    // A range of nothing is widened.
    const Array empty = lax::eq(low, high), half = number(low, 0.5);
    low = lax::select(empty, lax::sub(low, half), low);
    high = lax::select(empty, lax::add(high, half), high);
    const Shape edges{bins + 1};
    const Array step =
        lax::div(lax::iota(dtype, edges), lax::full(edges, static_cast<double>(bins), dtype));
    const Array first = lax::broadcast_in_dim(low, edges, {}),
                last = lax::broadcast_in_dim(high, edges, {});
    const Array borders =
        lax::add(lax::mul(first, lax::sub(number(step, 1), step)), lax::mul(last, step));
    const Array after = count_before(borders, flat, true);
    const Array at_end = lax::eq(flat, lax::broadcast_in_dim(high, flat.shape(), {}));
    const Array bin = lax::select(at_end, number(after, static_cast<double>(bins - 1)),
                                  lax::sub(after, number(after, 1)));
    // Below the first border: outside, as what is beyond the last.
    const IndexDims dims{.offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
    const Array counts = lax::scatter(lax::full({bins}, 0, dtype), lax::expand_dims(bin, {1}),
                                      lax::full(flat.shape(), 1, dtype), dims, ScatterKind::kAdd);
    return std::vector<Array>{counts, borders};
  });
  return {out[0], out[1]};
}

std::vector<Array> nonzero(const Array& x, int64_t size, int64_t fill) {
  if (size < 0) value_error("nonzero", "expected a size >= 0, got {}", size);
  const AxisParams p{.axis = fill, .dtype = default_int(), .sizes = {size}};
  return composite("nonzero", p, {x}, [&](std::span<const Array> a) {
    const Shape shape = a[0].shape();
    const int64_t n = a[0].size();
    const Array flat = lax::reshape(a[0], {n});
    const Array is = lax::ne(flat, number(flat, 0));
    // The k-th of them goes to place k; the others outside.
    const Array one = lax::convert_element_type(is, int32);
    const Array place = lax::select(is, lax::sub(lax::cumsum(one), number(one, 1)),
                                    number(one, static_cast<double>(size)));
    const IndexDims dims{.offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
    const Array from =
        lax::scatter(lax::full({size}, -1, p.dtype), lax::expand_dims(place, {1}),
                     lax::iota(p.dtype, {n}), dims, ScatterKind::kSet, {.unique_indices = false});
    const Array none = lax::lt(from, number(from, 0));
    std::vector<Array> out;
    const Dims strides = row_major_strides(shape);
    for (size_t d = 0; d < shape.size(); ++d) {
      const Array major = lax::div(from, number(from, static_cast<double>(strides[d])));
      const Array i = lax::rem(major, number(from, static_cast<double>(shape[d])));
      out.push_back(lax::select(none, number(from, static_cast<double>(fill)), i));
    }
    return out;
  });
}

Array unique(const Array& x, int64_t size, std::optional<Array> fill) {
  if (size < 0) value_error("unique", "expected a size >= 0, got {}", size);
  if (x.size() == 0) shape_error("unique", "expected elements, got {}", describe(x.type()));
  std::vector<Array> args{x};
  if (fill) args.push_back(*fill);
  return composite(
      "unique", AxisParams{.flag = fill.has_value(), .sizes = {size}}, args,
      [&](std::span<const Array> a) {
        const int64_t n = a[0].size();
        const std::vector<Array> operands{lax::reshape(a[0], {n})};
        const Array sorted = lax::sort(operands, 0)[0];
        const Array before = lax::slice_in_dim(sorted, 0, n - 1),
                    after = lax::slice_in_dim(sorted, 1, n);
        // NaNs count as one.
        Array differs = lax::ne(before, after);
        if (is_inexact(sorted.dtype()))
          differs = lax::bitwise_and(differs, lax::eq(before, before));
        const std::vector<Array> parts{lax::full({1}, 1, bool_), differs};
        const Array is = lax::concatenate(parts, 0);
        const Array one = lax::convert_element_type(is, int32);
        const Array place = lax::select(is, lax::sub(lax::cumsum(one), number(one, 1)),
                                        number(one, static_cast<double>(size)));
        const Array rest = a.size() > 1 ? as_dtype(a[1], sorted.dtype())
                                        : lax::reshape(lax::slice_in_dim(sorted, 0, 1), {});
        const IndexDims dims{
            .offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
        return lax::scatter(lax::broadcast_in_dim(rest, {size}, {}), lax::expand_dims(place, {1}),
                            sorted, dims, ScatterKind::kSet);
      });
}

}  // namespace tessera
