// The most frequent element, ranks, and the standard error of the mean.
#include <cmath>
#include <limits>

#include "tessera/base/format.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/sorting.h"
#include "tessera/scipy/stats.h"

namespace tessera::scipy::stats {

namespace statistics {
namespace {

struct ModeParams {
  int64_t axis;
  bool flat, keepdims;
};

// Returns positions along the last axis, in the shape of x.
Array positions(const Array& x) { return broadcast_to(arange(x.shape().back()), x.shape()); }

// Returns whether a sorted element is the first of its equals along the last axis. NaNs are equal.
Array starts(const Array& sorted) {
  const int64_t n = sorted.shape().back();
  const Array here = index(sorted, {Ellipsis, Slice(1, None)});
  const Array before = index(sorted, {Ellipsis, Slice(None, n - 1)});
  Array changed = here != before;
  if (is_inexact(sorted.dtype())) changed = changed & ~(isnan(here) & isnan(before));
  Shape first = sorted.shape();
  first.back() = 1;
  return concatenate({full(first, true, bool_), changed}, -1);
}

// Returns x with the axis moved to the end, or flattened.
Array axis_last(const Array& x, int64_t axis, bool flat) {
  return flat ? ravel(x) : moveaxis(x, axis, -1);
}

std::vector<Array> mode_of(const ModeParams& p, std::span<const Array> a) {
  const Array x = axis_last(a[0], p.axis, p.flat), sorted = sort(x, {.axis = -1});
  // Counts the equal elements up to each one. The largest count belongs to the first run of that
  // length.
  const Array at = positions(sorted);
  const Array begin = cummax(where(starts(sorted), at, 0), {.axis = sorted.ndim() - 1});
  const Array count = at - begin + 1;
  const Array best = argmax(count, {.axis = -1, .keepdims = true});
  std::vector<Array> out{take_along_axis(sorted, best, -1),
                         max(count, {.axis = -1, .keepdims = true})};
  for (Array& y : out) {
    if (!p.keepdims) {
      y = squeeze(y, -1);
    } else if (p.flat) {
      y = reshape(y, Shape(static_cast<size_t>(a[0].ndim()), 1));
    } else {
      y = moveaxis(y, -1, p.axis);
    }
  }
  return out;
}

struct RankParams {
  RankMethod method;
  int64_t axis;
  bool flat;
};

// Returns the ranks, from 0 on, of the sorted elements along the last axis.
Array sorted_ranks(RankMethod method, const Array& sorted, DType dtype) {
  const Array at = positions(sorted), is_start = starts(sorted);
  const int64_t axis = sorted.ndim() - 1, n = sorted.shape().back();
  const auto first = [&] { return cummax(where(is_start, at, 0), {.axis = axis}); };
  const auto last = [&] {
    Shape end_shape = sorted.shape();
    end_shape.back() = 1;
    const Array next = index(is_start, {Ellipsis, Slice(1, None)});
    const Array is_end = concatenate({next, full(end_shape, true, bool_)}, -1);
    return cummin(where(is_end, at, n), {.axis = axis, .reverse = true});
  };
  switch (method) {
    case RankMethod::kAverage:
      return 0.5 * as_dtype(first() + last(), dtype);
    case RankMethod::kMin:
      return as_dtype(first(), dtype);
    case RankMethod::kMax:
      return as_dtype(last(), dtype);
    case RankMethod::kDense:
      return as_dtype(cumsum(is_start, {.axis = axis}) - 1, dtype);
    case RankMethod::kOrdinal:
      return as_dtype(at, dtype);
  }
  __builtin_unreachable();
}

Array ranks(const RankParams& p, std::span<const Array> a) {
  const Array x = axis_last(a[0], p.axis, p.flat);
  const Array order = argsort(x, {.axis = -1}), place = argsort(order, {.axis = -1});
  const Array sorted = take_along_axis(x, order, -1);
  Array out = take_along_axis(sorted_ranks(p.method, sorted, default_float()), place, -1) + 1;
  if (is_inexact(x.dtype())) {
    const Array bad = any(isnan(x), {.axis = -1, .keepdims = true});
    out = where(bad, std::numeric_limits<double>::quiet_NaN(), out);
  }
  return p.flat ? out : moveaxis(out, -1, p.axis);
}

}  // namespace
}  // namespace statistics

ModeResult mode(const Array& a, const ModeOptions& options) {
  elementwise::expect_real("stats.mode", a);
  const bool flat = !options.axis || a.ndim() == 0;
  const int64_t axis = flat ? 0 : normalize_axis("stats.mode", *options.axis, a.ndim());
  if ((flat ? a.size() : a.shape()[axis]) == 0) {
    Shape shape = flat ? Shape(options.keepdims ? static_cast<size_t>(a.ndim()) : 0, 1) : a.shape();
    if (!flat && options.keepdims) shape[axis] = 1;
    if (!flat && !options.keepdims) shape.erase(shape.begin() + axis);
    return {full(shape, std::numeric_limits<double>::quiet_NaN(), default_float()),
            full(shape, 0, default_float())};
  }
  const std::vector<Array> out =
      composite("stats.mode", statistics::ModeParams{axis, flat, options.keepdims}, {a},
                [](const statistics::ModeParams& p, std::span<const Array> x) {
                  return statistics::mode_of(p, x);
                });
  return {out[0], out[1]};
}

Array rankdata(const Array& a, RankMethod method, const RankdataOptions& options) {
  elementwise::expect_real("stats.rankdata", a);
  const bool flat = !options.axis || a.ndim() == 0;
  const int64_t axis = flat ? 0 : normalize_axis("stats.rankdata", *options.axis, a.ndim());
  if (a.size() == 0) return zeros(flat ? Shape{0} : a.shape(), default_float());
  return composite("stats.rankdata", statistics::RankParams{method, axis, flat}, {a},
                   [](const statistics::RankParams& p, std::span<const Array> x) {
                     return statistics::ranks(p, x);
                   });
}

Array sem(const Array& a, const SemOptions& options) {
  elementwise::expect_real("stats.sem", a);
  struct SemParams {
    std::optional<int64_t> axis;
    double ddof;
    NanPolicy nan_policy;
    bool keepdims;
  };
  const auto body = [](const SemParams& p, std::span<const Array> x) {
    const Array a = promote(x[0], Promotion::kInexact);
    const Axes axes = p.axis ? Axes(*p.axis) : Axes(None);
    const VarOptions spread{.axis = axes, .keepdims = p.keepdims, .ddof = p.ddof};
    switch (p.nan_policy) {
      case NanPolicy::kPropagate: {
        const int64_t n =
            p.axis ? a.shape()[normalize_axis("stats.sem", *p.axis, a.ndim())] : a.size();
        return Array(tessera::std(a, spread) / std::sqrt(static_cast<double>(n)));
      }
      case NanPolicy::kOmit: {
        const Array count = sum(~isnan(a), {.axis = axes, .keepdims = p.keepdims});
        return Array(nanstd(a, spread) / sqrt(as_dtype(count, a.dtype())));
      }
    }
    __builtin_unreachable();
  };
  return composite("stats.sem",
                   SemParams{options.axis, options.ddof, options.nan_policy, options.keepdims}, {a},
                   body);
}

}  // namespace tessera::scipy::stats
