#include "tessera/ops/reductions/unroll_folds.h"

#include <algorithm>

#include "tessera/base/dtype.h"
#include "tessera/base/error.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/reductions/fold_body.h"
#include "tessera/ops/reductions/fold_windows.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/reductions/scalar_body.h"
#include "tessera/ops/reductions/unroll_prefixes.h"
#include "tessera/ops/reductions/window_slices.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {
namespace {

constexpr int64_t kMostPlaces = 12;      // elements of windows that are folded in one go
constexpr int64_t kMostAlong = 16;       // extent of windows that are folded element by element
constexpr int64_t kMostSlidStride = 2;   // stride of longer windows, computed for all positions
constexpr int64_t kMostDilation = 256;   // so that few remainders are examined
constexpr int64_t kMostRemainders = 16;  // kinds of windows, product over all dimensions

Array folded(ReduceKind kind, const Array& a, const Array& b) {
  switch (kind) {
    case ReduceKind::kSum:
      return lax::add(a, b);
    case ReduceKind::kProduct:
      return lax::mul(a, b);
    case ReduceKind::kMin:
      return lax::min(a, b);
    case ReduceKind::kMax:
      return lax::max(a, b);
    case ReduceKind::kAnd:
      return lax::bitwise_and(a, b);
    case ReduceKind::kOr:
      return lax::bitwise_or(a, b);
    case ReduceKind::kArgMin:
    case ReduceKind::kArgMax:
    case ReduceKind::kCustom:
      break;
  }
  TESSERA_CHECK(false, "a fold of two scalars");
  __builtin_unreachable();
}

// With dilation `by`: the windows q * by + r for all q have, for m < count, element q + first + m
// at position k + m * by. All other positions of these windows are empty.
struct Remainder {
  int64_t first, count;
  friend bool operator==(const Remainder&, const Remainder&) = default;
};
Remainder remainder_of(const Windows& w, int64_t d, int64_t r) {
  const int64_t by = w.base_dilation[d], k = (((w.low[d] - r) % by) + by) % by;
  return {(r + k - w.low[d]) / by, std::max<int64_t>(0, ceil_div(w.size[d] - k, by))};
}

// Returns the windows of each remainder.
std::vector<Remainder> remainders_of(const Windows& w, int64_t d) {
  std::vector<Remainder> out;
  for (int64_t r = 0; r < w.base_dilation[d]; ++r) out.push_back(remainder_of(w, d, r));
  return out;
}
bool all_alike(const std::vector<Remainder>& remainders) {
  return std::all_of(remainders.begin(), remainders.end(),
                     [&](const Remainder& r) { return r == remainders[0]; });
}

class WindowFolder {
 public:
  WindowFolder(ReduceKind kind, const Windows& windows) : kind_(kind), windows_(windows) {}

  Array run(const Array& x, const Array& init) const {
    const DType dtype = x.dtype();
    const bool widened =
        is_half(dtype) && (kind_ == ReduceKind::kSum || kind_ == ReduceKind::kProduct);
    const auto wide = [&](const Array& a) {
      return widened ? lax::convert_element_type(a, float32) : a;
    };
    const Array out = all(wide(x), wide(init));
    return widened ? lax::convert_element_type(out, dtype) : out;
  }

 private:
  Array identity(const Array& x) const { return Array(reduce_identity(kind_, x.dtype())); }

  Array all(Array x, const Array& init) const {
    const auto is_one = [](int64_t d) { return d == 1; };
    if (windows_.size.elements() <= kMostPlaces &&
        std::all_of(windows_.base_dilation.begin(), windows_.base_dilation.end(), is_one)) {
      const WindowSlices slices(x, identity(x), windows_);
      Array out = lax::broadcast_in_dim(init, slices.shape(), {});
      each_place(windows_.size,
                 [&](const Dims& place) { out = folded(kind_, out, slices.at(place)); });
      return out;
    }
    for (int64_t d = windows_.size.rank(); d-- > 0;)
      if (!windows_.trivial(d)) x = along(x, d);
    return folded(kind_, lax::broadcast_in_dim(init, x.shape(), {}), x);
  }

  // Returns windows with the extents of windows_ in dimension d, and of one element in all others.
  Windows only(int64_t d) const {
    Windows w = Windows::of_size(Dims(windows_.size.size(), 1));
    w.size[d] = windows_.size[d];
    w.strides[d] = windows_.strides[d];
    w.base_dilation[d] = windows_.base_dilation[d];
    w.window_dilation[d] = windows_.window_dilation[d];
    w.low[d] = windows_.low[d];
    w.high[d] = windows_.high[d];
    return w;
  }

  Array along(const Array& x, int64_t d) const {
    const Windows w = only(d);
    if (w.base_dilation[d] > 1) return by_remainder(x, w, d);
    return w.size[d] <= kMostAlong ? by_place(x, w) : sliding(x, w, d);
  }

  Array by_place(const Array& x, const Windows& w) const {
    const WindowSlices slices(x, identity(x), w);
    Array out;
    each_place(w.size, [&](const Dims& place) {
      const Array taken = slices.at(place);
      out = out.defined() ? folded(kind_, out, taken) : taken;
    });
    return out;
  }

  Array sliding(const Array& x, const Windows& w, int64_t d) const {
    const Array all = lax::pad(x, identity(x), w.low, w.high);
    const int64_t by = w.window_dilation[d], size = w.size[d];
    const int64_t positions = all.shape()[d] - (size - 1) * by;
    // power[i] is the fold of `length` elements from element i on.
    Array power = all, out;
    int64_t done = 0;
    for (int64_t length = 1; length <= size; length *= 2) {
      if (size & length) {
        const Array part = lax::slice_in_dim(power, done * by, done * by + positions, 1, d);
        out = out.defined() ? folded(kind_, out, part) : part;
        done += length;
      }
      if (2 * length > size) break;
      const int64_t left = power.shape()[d] - length * by;
      power = folded(kind_, lax::slice_in_dim(power, 0, left, 1, d),
                     lax::slice_in_dim(power, length * by, length * by + left, 1, d));
    }
    return lax::slice_in_dim(out, 0, positions, w.strides[d], d);
  }

  Array by_remainder(const Array& x, const Windows& w, int64_t d) const {
    const int64_t by = w.base_dilation[d],
                  results = window_shape("unroll_windows", x.shape(), w)[d],
                  rows = ceil_div(results, by);
    std::vector<Array> parts;
    const std::vector<Remainder> remainders = remainders_of(w, d);
    const bool same = all_alike(remainders);
    for (const Remainder& remainder : remainders) {
      if (same && !parts.empty()) break;
      parts.push_back(of_remainder(x, d, remainder, rows));
    }
    Shape shape = parts[0].shape(), merged = shape;
    merged[d] *= by;
    shape.insert(shape.begin() + d + 1, by);
    Dims kept = iota_dims(shape.rank());
    kept.erase(kept.begin() + d + 1);
    Array all;
    if (same) {
      all = lax::broadcast_in_dim(parts[0], shape, kept);
    } else {
      for (Array& part : parts) part = lax::expand_dims(part, {d + 1});
      all = lax::concatenate(parts, d + 1);
    }
    return lax::slice_in_dim(lax::reshape(all, merged), 0, results, 1, d);
  }

  Array of_remainder(const Array& x, int64_t d, const Remainder& remainder, int64_t rows) const {
    if (remainder.count == 0) {
      Shape shape = x.shape();
      shape[d] = rows;
      return lax::broadcast_in_dim(identity(x), shape, {});
    }
    Windows w = Windows::of_size(Dims(x.shape().size(), 1));
    w.size[d] = remainder.count;
    w.low[d] = -remainder.first;
    w.high[d] = rows + remainder.count - 1 - x.shape()[d] + remainder.first;
    return by_place(x, w);
  }

  ReduceKind kind_;
  const Windows& windows_;
};

bool unrolls(const Windows& w, const Shape& shape) {
  int64_t remainders = 1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (w.trivial(d)) continue;
    if (w.base_dilation[d] > 1) {
      if (w.strides[d] != 1 || w.window_dilation[d] != 1 || w.base_dilation[d] > kMostDilation)
        return false;
      const std::vector<Remainder> kinds = remainders_of(w, d);
      if (kinds[0].count > kMostAlong) return false;
      if (!all_alike(kinds)) remainders *= w.base_dilation[d];
    } else if (w.size[d] > kMostAlong &&
               (w.strides[d] > kMostSlidStride || w.size[d] >= shape[d])) {
      return false;
    }
  }
  return remainders <= kMostRemainders;
}

}  // namespace

FlatFn unrolled_fold(const OpParams& params, std::span<const Type> operands, const Type&) {
  const auto& p = params.as<ReduceWindowParams>();
  const Windows windows = p.windows();
  const Shape& shape = operands[0].shape;
  const DType dtype = operands[0].dtype;
  const bool logical = p.kind == ReduceKind::kAnd || p.kind == ReduceKind::kOr;
  const bool extremum = p.kind == ReduceKind::kMin || p.kind == ReduceKind::kMax;
  bool reverse = false;
  const int64_t along = cumulative_dim(windows, shape, &reverse);
  if (p.kind == ReduceKind::kCustom && shape.elements() > 0 && !is_narrow(dtype)) {
    const FunctionRef body = scalar_body(*p.body);
    if (!is_elementwise(*body)) return nullptr;
    return [=](const std::vector<Array>& x) {
      const auto middle = x.begin() + static_cast<ptrdiff_t>(x.size() / 2);
      const std::vector<Array> arrays(x.begin(), middle), inits(middle, x.end());
      return along >= 0 ? unrolled_prefixes(body, arrays, inits, along, reverse)
                        : folded_windows(*body, arrays, inits, windows);
    };
  }
  if (along >= 0 || p.kind > ReduceKind::kOr || shape.elements() == 0 || is_narrow(dtype))
    return nullptr;
  if ((dtype == bool_ && !logical) || (extremum && is_complex(dtype))) return nullptr;
  if (window_shape("unroll_windows", shape, windows).elements() == 0 || !unrolls(windows, shape))
    return nullptr;
  return [kind = p.kind, windows](const std::vector<Array>& x) {
    return std::vector<Array>{WindowFolder(kind, windows).run(x[0], x[1])};
  };
}

}  // namespace tessera::ops
