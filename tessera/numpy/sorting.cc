#include "tessera/numpy/sorting.h"

#include "tessera/compile/composite.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/promotion.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tessera/ops/structural/sort.h"

namespace tessera {

using namespace ir;

namespace {

struct AxisParams {
  int64_t axis = 0;
  bool flat = false, descending = false;
  DType index = int32;  // of positions
};

// Returns the axis in the array that `arranged` returns, which is flattened if no axis is given.
AxisParams axis_params(const char* name, const Array& x, std::optional<int64_t> axis) {
  AxisParams p{.flat = !axis};
  p.axis = axis ? normalize_axis(name, *axis, x.ndim()) : 0;
  return p;
}
Array arranged(const Array& x, const AxisParams& p) {
  return p.flat ? lax::reshape(x, {x.size()}) : x;
}

using Cumulate = Array (*)(const Array&, int64_t, bool);

Array cumulate(const char* name, const Array& x, const CumulativeOptions& options, Cumulate fold,
               std::optional<double> nan = std::nullopt) {
  struct CumulativeParams {
    AxisParams axis;
    DType dtype;
    Cumulate fold;
    std::optional<double> nan;  // value that replaces NaN
  };
  const DType own = x.dtype() == bool_ ? default_int() : x.dtype();
  const DType dtype = canonical_dtype(options.dtype.value_or(own));
  return composite(name, CumulativeParams{axis_params(name, x, options.axis), dtype, fold, nan},
                   {x}, [](const CumulativeParams& p, std::span<const Array> a) {
                     Array y = arranged(a[0], p.axis);
                     if (p.nan && is_inexact(y.dtype()))
                       y = lax::select(elementwise::is_nan(y), elementwise::like(y, *p.nan), y);
                     y = as_dtype(y, p.dtype);
                     if (p.dtype != bool_) return p.fold(y, p.axis.axis, false);
                     const Array count = p.fold(as_dtype(y, int32), p.axis.axis, false);
                     return as_dtype(count, bool_);
                   });
}

Array scan(const char* name, const Array& x, const RunningOptions& options, Cumulate fold) {
  struct RunningParams {
    int64_t axis;
    bool reverse;
    Cumulate fold;
  };
  const AxisParams p = axis_params(name, x, options.axis);
  return composite(name, RunningParams{p.axis, options.reverse, fold}, {x},
                   [](const RunningParams& r, std::span<const Array> a) {
                     return r.fold(a[0], r.axis, r.reverse);
                   });
}

}  // namespace

Array sort(const Array& x, const SortOptions& options) {
  AxisParams params = axis_params("sort", x, options.axis);
  params.descending = options.descending;
  return composite("sort", params, {x}, [](const AxisParams& p, std::span<const Array> a) {
    const std::vector<Array> operands{arranged(a[0], p)};
    const Array ascending = lax::sort(operands, p.axis)[0];
    return p.descending ? lax::rev(ascending, {p.axis}) : ascending;
  });
}

Array argsort(const Array& x, const SortOptions& options) {
  AxisParams params = axis_params("argsort", x, options.axis);
  params.descending = options.descending;
  params.index = default_int();
  return composite("argsort", params, {x}, [](const AxisParams& p, std::span<const Array> a) {
    const Array flat = arranged(a[0], p);
    const std::vector<Array> operands{flat, lax::iota(p.index, flat.shape(), p.axis)};
    return lax::sort(operands, p.axis, 1, p.descending)[1];
  });
}

Array lexsort(const std::vector<Array>& keys, int64_t axis) {
  if (keys.empty()) value_error("lexsort", "expected at least one key, got none");
  for (const Array& key : keys)
    if (key.shape() != keys[0].shape())
      shape_error("lexsort", "expected keys of one shape, got {} and {}", describe(keys[0].type()),
                  describe(key.type()));
  if (keys[0].ndim() == 0) return lax::full({}, 0, default_int());
  AxisParams params = axis_params("lexsort", keys[0], axis);
  params.index = default_int();
  return composite("lexsort", params, keys, [](const AxisParams& p, std::span<const Array> a) {
    std::vector<Array> operands(a.rbegin(), a.rend());
    operands.push_back(lax::iota(p.index, a[0].shape(), p.axis));
    return lax::sort(operands, p.axis, static_cast<int64_t>(a.size())).back();
  });
}

std::pair<Array, Array> top_k(const Array& x, int64_t k, int64_t axis) {
  struct TopParams {
    int64_t k, axis;
  };
  const int64_t d = normalize_axis("top_k", axis, x.ndim());
  std::vector<Array> out =
      composite("top_k", TopParams{k, d}, {x}, [](const TopParams& p, std::span<const Array> a) {
        const int64_t last = a[0].ndim() - 1;
        auto [values, places] = lax::top_k(lax::move_dim(a[0], p.axis, last), p.k);
        return std::vector<Array>{lax::move_dim(values, last, p.axis),
                                  lax::move_dim(places, last, p.axis)};
      });
  return {out[0], out[1]};
}

Array cumsum(const Array& x, const CumulativeOptions& options) {
  return cumulate("cumsum", x, options, lax::cumsum);
}
Array cumprod(const Array& x, const CumulativeOptions& options) {
  return cumulate("cumprod", x, options, lax::cumprod);
}
Array nancumsum(const Array& x, const CumulativeOptions& options) {
  return cumulate("nancumsum", x, options, lax::cumsum, 0);
}
Array nancumprod(const Array& x, const CumulativeOptions& options) {
  return cumulate("nancumprod", x, options, lax::cumprod, 1);
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

}  // namespace tessera
