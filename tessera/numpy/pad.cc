#include "tessera/numpy/pad.h"

#include <algorithm>

#include "tessera/base/array_size.h"
#include "tessera/compile/composite.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/quantile.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera {

using namespace ops;

namespace {

// Returns the slice [start, stop) along one dimension.
Array rows_of(const Array& x, int64_t axis, int64_t start, int64_t stop) {
  return lax::slice_in_dim(x, start, stop, 1, axis);
}

// Returns the index of the element that position i of a padded dimension repeats. i may be outside
// of [0, extent).
int64_t padded_source(PadMode mode, int64_t i, int64_t extent) {
  const auto wrapped = [](int64_t k, int64_t period) { return (k % period + period) % period; };
  switch (mode) {
    case PadMode::kEdge:
      return std::clamp<int64_t>(i, 0, extent - 1);
    case PadMode::kWrap:
      return wrapped(i, extent);
    case PadMode::kReflect: {  // 3 2 1 [0 1 2 3] 2 1 0
      if (extent == 1) return 0;
      const int64_t k = wrapped(i, 2 * extent - 2);
      return k < extent ? k : 2 * extent - 2 - k;
    }
    case PadMode::kSymmetric: {  // 1 0 [0 1 2 3] 3 2
      const int64_t k = wrapped(i, 2 * extent);
      return k < extent ? k : 2 * extent - 1 - k;
    }
    default:
      TESSERA_CHECK(false, "a mode whose elements are not the array's");
  }
}

// Returns elements [first, last) of the padded dimension. They are joined from runs of source
// indices that ascend, descend or stay equal.
Array padded_run(const Array& x, int64_t axis, PadMode mode, int64_t first, int64_t last) {
  const int64_t extent = x.shape()[axis];
  std::vector<Array> runs;
  for (int64_t i = first; i < last;) {
    const int64_t source = padded_source(mode, i, extent);
    int64_t stop = i + 1;
    const int64_t step = stop < last ? padded_source(mode, stop, extent) - source : 0;
    if (step >= -1 && step <= 1)
      while (stop < last &&
             padded_source(mode, stop, extent) - padded_source(mode, stop - 1, extent) == step)
        ++stop;
    const int64_t length = stop - i;
    if (length == 1 || step == 1) {
      runs.push_back(rows_of(x, axis, source, source + length));
    } else if (step == -1) {
      runs.push_back(lax::rev(rows_of(x, axis, source - length + 1, source + 1), {axis}));
    } else {
      Shape shape = x.shape();
      shape[axis] = length;
      runs.push_back(broadcast_array("pad", rows_of(x, axis, source, source + 1), shape));
    }
    i = stop;
  }
  return runs.empty() ? rows_of(x, axis, 0, 0) : lax::concatenate(runs, axis);
}

// Returns `value` (a scalar, or of extent 1 along the axis) repeated `width` times along the axis
// of x.
Array block(const Array& x, int64_t axis, int64_t width, const Array& value) {
  Shape shape = x.shape();
  shape[axis] = width;
  return broadcast_array("pad", as_dtype(value, x.dtype(), x.weak_type()), shape);
}

// Returns a statistic of the elements of x along the axis, in x's dtype: means of integers are
// rounded.
Array statistic(const Array& x, int64_t axis, PadMode mode) {
  switch (mode) {
    case PadMode::kMaximum:
      return max(x, {.axis = axis, .keepdims = true});
    case PadMode::kMinimum:
      return min(x, {.axis = axis, .keepdims = true});
    case PadMode::kMean:
    case PadMode::kMedian: {
      const Array value = mode == PadMode::kMean ? mean(x, {.axis = axis, .keepdims = true})
                                                 : median(x, {.axis = axis, .keepdims = true});
      return is_integer(x.dtype()) ? round(value) : value;
    }
    default:
      TESSERA_CHECK(false, "not a statistic");
  }
}

// Returns `width` evenly spaced numbers from `end` towards the element at the edge, without that
// element. `edge` has extent 1 along the axis.
Array ramp(const Array& x, int64_t axis, int64_t width, const Array& end, const Array& edge) {
  const LinspaceOptions options{.endpoint = false, .dtype = x.dtype(), .axis = axis};
  return as_dtype(linspace(end, lax::squeeze(edge, {axis}), width, options), x.dtype(),
                  x.weak_type());
}

// Returns x with one dimension padded. `ends` are the values before and after.
Array padded(const Array& x, int64_t axis, int64_t low, int64_t high, PadMode mode,
             std::pair<Array, Array> ends, std::optional<int64_t> stat_length) {
  const int64_t extent = x.shape()[axis];
  Array before, after;
  switch (mode) {
    case PadMode::kEdge:
    case PadMode::kReflect:
    case PadMode::kSymmetric:
    case PadMode::kWrap:
      return padded_run(x, axis, mode, -low, extent + high);
    case PadMode::kConstant:
    case PadMode::kEmpty:
      before = block(x, axis, low, ends.first);
      after = block(x, axis, high, ends.second);
      break;
    case PadMode::kLinearRamp:
      before = ramp(x, axis, low, ends.first, rows_of(x, axis, 0, 1));
      after =
          lax::rev(ramp(x, axis, high, ends.second, rows_of(x, axis, extent - 1, extent)), {axis});
      break;
    case PadMode::kMaximum:
    case PadMode::kMean:
    case PadMode::kMedian:
    case PadMode::kMinimum: {
      const int64_t n = std::min(stat_length.value_or(extent), extent);
      before = block(x, axis, low, statistic(rows_of(x, axis, 0, n), axis, mode));
      after = block(x, axis, high, statistic(rows_of(x, axis, extent - n, extent), axis, mode));
      break;
    }
  }
  std::vector<Array> parts;
  if (low > 0) parts.push_back(before);
  parts.push_back(x);
  if (high > 0) parts.push_back(after);
  return lax::concatenate(parts, axis);
}

}  // namespace

Array pad(const Array& x, const std::vector<std::pair<int64_t, int64_t>>& widths,
          const PadOptions& o) {
  struct PadParams {
    Dims low, high;
    PadMode mode;
    std::optional<int64_t> stat_length;
    bool pairs, one_pair;
  } params{{}, {}, o.mode, o.stat_length, !o.values.empty(), false};
  const auto count = [&](const char* what, size_t n) {
    const bool one = n == 1 && x.ndim() != 1;
    if (!one && static_cast<int64_t>(n) != x.ndim())
      shape_error("pad", "expected one pair of {} or one for each dimension of {}, got {}", what,
                  describe(x.type()), n);
    return one;
  };
  const bool one = count("widths", widths.size());
  if (o.stat_length && *o.stat_length < 1)
    value_error("pad", "expected a stat_length of at least 1, got {}", *o.stat_length);
  for (int64_t d = 0; d < x.ndim(); ++d) {
    const auto [low, high] = widths[one ? 0 : static_cast<size_t>(d)];
    if (low < 0 || high < 0)
      value_error("pad", "expected widths of at least 0, got ({}, {}); slice cuts", low, high);
    Shape wider = x.shape();
    wider[d] = checked_sum("pad", wider[d], checked_sum("pad", low, high));
    checked_bytes("pad", x.dtype(), wider);
    if (o.mode != PadMode::kConstant && o.mode != PadMode::kEmpty && x.shape()[d] == 0 &&
        low + high > 0)
      shape_error("pad", "expected elements to pad dimension {} with, got {}; pad with a constant",
                  d, describe(x.type()));
    params.low.push_back(low);
    params.high.push_back(high);
  }
  std::vector<Array> args{x};
  params.one_pair = params.pairs && count("values", o.values.size());
  if (!params.pairs) args.push_back(o.mode == PadMode::kEmpty ? Array(0) : o.value);
  for (const auto& [before, after] : o.values) args.insert(args.end(), {before, after});
  for (size_t k = 1; k < args.size(); ++k)
    if (args[k].ndim() != 0)
      shape_error("pad", "expected scalars as values, got {}", describe(args[k].type()));
  return composite("pad", params, args, [](const PadParams& p, std::span<const Array> a) {
    if (p.mode == PadMode::kConstant && !p.pairs)
      return lax::pad(a[0], as_dtype(a[1], a[0].dtype(), false), p.low, p.high);
    Array out = a[0];
    for (int64_t d = 0; d < out.ndim(); ++d) {
      if (p.low[d] + p.high[d] == 0) continue;
      const size_t at = !p.pairs || p.one_pair ? 1 : static_cast<size_t>(1 + 2 * d);
      out = padded(out, d, p.low[d], p.high[d], p.mode, {a[at], a[p.pairs ? at + 1 : at]},
                   p.stat_length);
    }
    return out;
  });
}

}  // namespace tessera
