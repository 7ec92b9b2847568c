// Derivatives and transpose of reduce_window.
#include <algorithm>
#include <limits>

#include "tessera/ir/op_def.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/core/tracer.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/reductions/associative_scan.h"
#include "tessera/ops/reductions/pointwise_body.h"
#include "tessera/ops/reductions/reduce_window.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"

namespace tessera::ops {

namespace {

using namespace array_math;

// Returns whether a is strictly better than b: larger for a maximum, smaller for a minimum. Complex
// numbers have an order of max and min, but no comparison ops.
Array better(ReduceKind kind, const Array& a, const Array& b) {
  const bool max = kind == ReduceKind::kMax;
  if (!is_complex(a.dtype())) return max ? lax::gt(a, b) : lax::lt(a, b);
  const Array extremum = max ? lax::max(a, b) : lax::min(a, b);
  return lax::bitwise_and(lax::eq(a, extremum), lax::ne(a, b));
}

// Returns the tangent of a running product or extremum by folding pairs of value and tangent, as in
// JAX.
Array running_tangent(const Array& x, const Array& t, ReduceKind kind, int dim, bool reverse) {
  using Arrays = std::vector<Array>;
  const auto fold = [kind](const Arrays& a, const Arrays& b) -> Arrays {
    if (kind == ReduceKind::kProduct) return {a[0] * b[0], a[1] * b[0] + a[0] * b[1]};
    const Array wins = better(kind, b[0], a[0]), even = lax::eq(a[0], b[0]);
    return {kind == ReduceKind::kMax ? lax::max(a[0], b[0]) : lax::min(a[0], b[0]),
            lax::select(wins, b[1], lax::select(even, (a[1] + b[1]) * 0.5, a[1]))};
  };
  return lax::associative_scan(fold, {x, t}, dim, reverse)[1];
}

// Does the same for a fold by `body`, a function of two scalars, that begins with `init`.
Array running_tangent(const Array& x, const Array& t, const Array& init, const Function& body,
                      int dim, bool reverse) {
  using Arrays = std::vector<Array>;
  const auto fold = [&](const Arrays& a, const Arrays& b) -> Arrays {
    const JvpResult out =
        jvp_body("reduce_window", body, std::vector{a[0], b[0]}, std::vector{a[1], b[1]});
    return {out.primals[0], out.tangents[0].defined() ? out.tangents[0] : lax::full_like(a[0], 0)};
  };
  const Array start = lax::broadcast_in_dim(init, x.shape(), {});
  return fold({start, lax::full_like(t, 0)}, lax::associative_scan(fold, {x, t}, dim, reverse))[1];
}

// Windows of at most this many elements are handled position by position; larger ones by a gather.
constexpr int64_t kFewPlaces = 16;

// Returns, for each position in the window, the elements of all windows there: a strided slice,
// which fuses with the ops around it. `fill` is the value of padding and between dilated elements.
std::vector<Array> by_places(const Array& x, const Windows& w, double fill) {
  const int64_t rank = x.ndim();
  const Shape results = window_shape("reduce_window", x.shape(), w);
  Dims interior;
  for (int64_t d : w.base_dilation) interior.push_back(d - 1);
  const Array all =
      lax::pad(x, lax::full({}, fill, x.dtype(), x.weak_type()), w.low, w.high, interior);
  std::vector<Array> out;
  Dims place(static_cast<size_t>(rank), 0);
  for (int64_t n = w.size.elements(); n-- > 0;) {
    Dims start, limit;
    for (int64_t d = 0; d < rank; ++d) {
      start.push_back(place[d] * w.window_dilation[d]);
      limit.push_back(start[d] + (results[d] - 1) * w.strides[d] + 1);
    }
    out.push_back(lax::slice(all, start, limit, w.strides));
    for (int64_t d = rank; d-- > 0 && ++place[d] == w.size[d];) place[d] = 0;
  }
  return out;
}

// Returns for each window the tangent at the first position whose element equals the window's
// extremum, `folded`.
Array tangent_at_extremum(const Array& x, const Array& t, const Array& folded, ReduceKind kind,
                          const Windows& w) {
  const double nothing = kind == ReduceKind::kMax ? -std::numeric_limits<double>::infinity()
                                                  : std::numeric_limits<double>::infinity();
  const std::vector<Array> values = by_places(x, w, nothing), tangents = by_places(t, w, 0);
  Array place = lax::full(folded.shape(), -1, int32);
  for (size_t k = values.size(); k-- > 0;) {
    // If a window has a NaN, its extremum is NaN, which equals nothing.
    const Array here = lax::bitwise_or(lax::eq(values[k], folded), lax::ne(values[k], values[k]));
    place = lax::select(here, lax::full_like(place, static_cast<double>(k)), place);
  }
  Array out;
  for (size_t k = 0; k < tangents.size(); ++k) {
    const Array term = lax::select(lax::eq(place, lax::full_like(place, static_cast<double>(k))),
                                   tangents[k], lax::full_like(tangents[k], 0));
    out = out.defined() ? out + term : term;
  }
  return out;
}

// Returns the tangent where a window's extremum is better than the initial value, half of it where
// they are equal, and 0 elsewhere.
Array where_better(const Array& t, const Array& folded, const Array& init, ReduceKind kind) {
  const Array start = lax::broadcast_in_dim(init, folded.shape(), {});
  const Array even = lax::eq(folded, start);
  const Array otherwise = lax::select(even, t * 0.5, lax::full_like(t, 0));
  return lax::select(better(kind, folded, start), t, otherwise);
}

}  // namespace

JvpResult jvp_reduce_window(std::span<const Array> x, std::span<const Array> t,
                            const ReduceWindowParams& p) {
  JvpResult out{.primals = bind_op(reduce_window_op, p, x)};
  out.tangents.resize(out.primals.size());
  if (!is_inexact(x[0].dtype())) return out;
  const size_t n = x.size() / 2;
  for (size_t k = n; k < 2 * n; ++k)
    if (t[k].defined())
      type_error("reduce_window",
                 "expected an initial value without a tangent to differentiate; apply it after "
                 "the fold");
  if (!t[0].defined()) return out;
  const Windows windows = p.windows();
  bool reverse = false;
  const int along = cumulative_dim(windows, x[0].shape(), &reverse);
  switch (p.kind) {
    case ReduceKind::kSum:
      out.tangents[0] = lax::reduce_window_of(ReduceKind::kSum, t[0], windows);
      return out;
    case ReduceKind::kProduct:
      if (p.size.elements() == 1) {
        // The product of a window of one element is the initial value times that element, so it is
        // linear.
        out.tangents[0] = lax::reduce_window_of(ReduceKind::kSum, t[0], windows) *
                          lax::broadcast_in_dim(x[1], out.primals[0].shape(), {});
        return out;
      }
      if (along < 0) break;
      out.tangents[0] = running_tangent(x[0], t[0], p.kind, along, reverse) *
                        lax::broadcast_in_dim(x[1], x[0].shape(), {});
      return out;
    case ReduceKind::kMin:
    case ReduceKind::kMax: {
      const Literal* known = known_value(x[1]);
      const bool plain = known && *known == reduce_identity(p.kind, x[1].dtype());
      const Array folded = plain ? out.primals[0] : lax::reduce_window_of(p.kind, x[0], windows);
      Array tangent;
      if (along >= 0) {
        tangent = running_tangent(x[0], t[0], p.kind, along, reverse);
      } else if ((p.size.elements() <= kFewPlaces || is_complex(x[0].dtype())) &&
                 folded.size() > 0) {
        tangent = tangent_at_extremum(x[0], t[0], folded, p.kind, windows);
      } else {
        tangent =
            lax::take_window_argument(t[0], lax::window_argument(p.kind, x[0], windows), windows);
      }
      out.tangents[0] = plain ? tangent : where_better(tangent, folded, x[1], p.kind);
      return out;
    }
    case ReduceKind::kCustom:
      if (along < 0 || n != 1) break;
      out.tangents[0] = running_tangent(x[0], t[0], x[1], *p.body, along, reverse);
      return out;
    default:
      break;
  }
  type_error(
      "reduce_window",
      "expected a sum, min, max or cumulative product to differentiate, or any cumulative fold, "
      "got another; write it as a loop");
}

// Each element's cotangent is the sum of the cotangents of all windows that contain it. That is a
// window sum over the cotangent, with strides and dilation exchanged.
std::vector<Array> transpose_reduce_window(std::span<const Array> cts, std::span<const Array> x,
                                           const std::vector<bool>& linear,
                                           const ReduceWindowParams& p) {
  TESSERA_CHECK(p.kind == ReduceKind::kSum && linear[0], "the fold is not linear");
  std::vector<Array> out(2);
  if (!cts[0].defined()) return out;
  if (linear[1]) out[1] = lax::reduce_sum(cts[0], iota_dims(cts[0].ndim()));
  const Shape &in = x[0].shape(), &shape = cts[0].shape();
  if (cts[0].size() == 0 || x[0].size() == 0) {
    out[0] = lax::full(in, 0, cts[0].dtype());
    return out;
  }
  Windows w = p.windows();
  std::swap(w.strides, w.base_dilation);
  auto dilated = [](int64_t extent, int64_t by) { return (extent - 1) * by + 1; };
  for (int64_t d = 0; d < in.rank(); ++d) {
    const int64_t window = dilated(p.size[d], p.window_dilation[d]);
    w.low[d] = window - p.low[d] - 1;
    w.high[d] = dilated(in[d], p.base_dilation[d]) + window - 1 - dilated(shape[d], p.strides[d]) -
                w.low[d];
  }
  out[0] = lax::reduce_window_of(ReduceKind::kSum, cts[0], w);
  return out;
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

namespace {

// Merges the windowed dimensions into the first of them. `order` is the permutation that brings
// them together, `back` its inverse.
struct Merged {
  Dims order, back;
  int64_t at = 0, count = 0;
  Merged(const Windows& windows, int64_t rank) {
    Dims windowed;
    for (int64_t d = 0; d < rank; ++d)
      if (!windows.trivial(d)) windowed.push_back(d);
    count = windowed.rank();
    for (int64_t d = 0; d < rank; ++d) {
      if (windows.trivial(d)) {
        order.push_back(d);
      } else if (count > 0 && d == windowed[0]) {
        at = order.rank();
        order.insert(order.end(), windowed.begin(), windowed.end());
      }
    }
    back.resize(order.size());
    for (size_t d = 0; d < order.size(); ++d) back[order[d]] = static_cast<int64_t>(d);
  }
  Shape arranged(const Shape& shape) const {
    Shape out;
    for (int64_t d : order) out.push_back(shape[d]);
    return out;
  }
  Array merge(const Array& x) const {
    Shape shape = arranged(x.shape());
    int64_t extent = 1;
    for (int64_t k = 0; k < count; ++k) extent *= shape[at + k];
    shape.erase(shape.begin() + at, shape.begin() + at + count);
    shape.insert(shape.begin() + at, extent);
    return reshape(transpose(x, order), shape);
  }
  Array split(const Array& x, const Shape& shape) const {
    return transpose(reshape(x, arranged(shape)), back);
  }
};

}  // namespace

Array window_argument(ReduceKind extremum, const Array& x, const Windows& windows) {
  const Merged merged(windows, x.ndim());
  Shape flat = merged.merge(x).shape();
  const Array place = merged.split(iota(int32, flat, merged.at), x.shape());
  const std::vector<Array> operands{x, place};
  const std::vector<Array> inits{Array(reduce_identity(extremum, x.dtype())),
                                 Array(Literal::scalar(int32_t{-1}))};
  return reduce_window(operands, inits,
                       extremum == ReduceKind::kMax ? ReduceKind::kArgMax : ReduceKind::kArgMin,
                       windows)[1];
}

Array take_window_argument(const Array& x, const Array& places, const Windows& windows) {
  const Merged merged(windows, x.ndim());
  const Array taken = merged.split(
      take_along(merged.merge(x), merged.merge(max(places, full_like(places, 0))), merged.at),
      places.shape());
  return select(ge(places, full_like(places, 0)), taken, full_like(taken, 0));
}

}  // namespace tessera::lax
