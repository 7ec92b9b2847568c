#include "tessera/ops/reductions/reduce_window.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "tessera/base/array_size.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/halo_rule.h"
#include "tessera/ops/core/log_add.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/core/source_scope.h"
#include "tessera/ops/core/unroll_rule.h"
#include "tessera/ops/reductions/associative_scan.h"
#include "tessera/ops/reductions/reduce_internal.h"
#include "tessera/ops/reductions/unroll_folds.h"
#include "tessera/ops/reductions/written_kind.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/pad.h"

namespace tessera::ops {
namespace {

constexpr std::string_view kReduceWindowOp = "reduce_window";

std::vector<Type> infer_reduce_window(std::span<const Type> operands, const ReduceWindowParams& p) {
  const size_t n = operands.size() / 2;
  if (operands.empty() || operands.size() % 2 != 0)
    type_error(kReduceWindowOp, "expected arrays and as many initial scalars (C1), got {} operands",
               operands.size());
  expect_same_shape(kReduceWindowOp, operands.first(n));
  for (size_t k = 0; k < n; ++k) {
    const Type& init = operands[n + k];
    if (init.rank() != 0 || init.dtype != operands[k].dtype)
      type_error(kReduceWindowOp, "expected an initial scalar of dtype {}, got {}",
                 operands[k].dtype, describe(init));
  }
  const size_t takes = is_arg(p.kind) ? 2 : 1;
  if (p.kind != ReduceKind::kCustom && n != takes)
    type_error(kReduceWindowOp, "expected {} operand(s) for this fold, got {}", takes, n);
  const DType dtype = operands[0].dtype;
  if (is_arg(p.kind) && is_complex(dtype))
    type_error(kReduceWindowOp, "expected an array with an order, got {}", describe(operands[0]));
  if (is_arg(p.kind) && operands[1].dtype != int32 && operands[1].dtype != int64)
    type_error(kReduceWindowOp, "expected places of int32 or int64, got {}", describe(operands[1]));
  if ((p.kind == ReduceKind::kAnd || p.kind == ReduceKind::kOr) && is_inexact(dtype))
    type_error(kReduceWindowOp, "expected a bool or integer array, got {}", describe(operands[0]));
  if (p.kind == ReduceKind::kCustom) {
    bool fits = p.body && p.body->inputs.size() == 2 * n && p.body->outputs.size() == n;
    for (size_t k = 0; fits && k < 2 * n; ++k)
      fits = p.body->type(p.body->inputs[k]).same_array(Type{operands[k % n].dtype, {}});
    for (size_t k = 0; fits && k < n; ++k)
      fits = p.body->type(p.body->outputs[k]).same_array(Type{operands[k].dtype, {}});
    if (!fits)
      type_error(kReduceWindowOp, "expected a body of two scalars an operand (C13), got another");
  }
  const Shape shape = window_shape(kReduceWindowOp, operands[0].shape, p.windows());
  const AxisNames varying = varying_union(operands);
  std::vector<Type> out;
  for (size_t k = 0; k < n; ++k)
    out.push_back({.dtype = operands[k].dtype,
                   .shape = shape,
                   .weak = operands[k].weak && operands[n + k].weak,
                   .varying = varying});
  return out;
}

// Returns how many rows there are from the first to the last one that a window reads.
int64_t window_rows(const ReduceWindowParams& p, int64_t d) {
  return (p.size[d] - 1) * p.window_dilation[d] + 1;
}
// Returns whether windows reach only rows of neighbouring shards, so that the dimension may be
// sharded. Windows of cumulative folds are as long as the array, and for a fold of any other kind
// no value of padding is known that leaves results unchanged.
bool is_local(const ReduceWindowParams& p, int64_t extent, int64_t results, int64_t d) {
  return p.kind <= ReduceKind::kOr && windows_are_local(window_rows(p, d), results) &&
         window_rows(p, d) < extent;
}

Factors reduce_window_factors(std::span<const Type> operands, std::span<const Type> results,
                              const ReduceWindowParams& p) {
  Factors out;
  const size_t n = operands.size() / 2;
  TensorFactors x, result;
  const Windows windows = p.windows();
  for (int64_t d = 0; d < operands[0].rank(); ++d) {
    const bool same = windows.trivial(d);
    const int64_t from = operands[0].shape[d], to = results[0].shape[d];
    if (same || is_local(p, from, to, d)) {
      x.push_back(
          {out.add(std::max(from, to), same ? FactorKind::kPass : FactorKind::kPermutation)});
      result.push_back(x.back());
      continue;
    }
    // If the dimension keeps its length (a cumulative fold), operand and result have one factor.
    x.push_back({out.add(from, FactorKind::kNeedReplication)});
    result.push_back(from == to ? x.back() : DimFactors{out.add(to, FactorKind::kNeedReplication)});
  }
  out.operands.assign(n, x);
  out.operands.resize(2 * n);
  out.results.assign(n, result);
  return out;
}

double reduce_window_flops(std::span<const Type> operands, std::span<const Type> results,
                           const ReduceWindowParams& p) {
  bool reverse = false;
  if (cumulative_dim(p.windows(), operands[0].shape, &reverse) >= 0)
    return static_cast<double>(results[0].elements());
  return static_cast<double>(results[0].elements()) * static_cast<double>(p.size.elements());
}

BatchResult batch_reduce_window(std::span<const Array> x, std::span<const int> dims,
                                const ReduceWindowParams& p) {
  const size_t n = x.size() / 2;
  int64_t size = -1;
  for (size_t k = 0; k < n; ++k)
    if (dims[k] >= 0) size = x[k].shape()[dims[k]];
  if (std::any_of(dims.begin() + static_cast<int64_t>(n), dims.end(), [](int d) { return d >= 0; }))
    type_error(
        kReduceWindowOp,
        "expected initial values that are the same for every example of vmap; apply them after it");
  std::vector<Array> operands;
  for (size_t k = 0; k < n; ++k) operands.push_back(lax::with_batch_first(x[k], dims[k], size));
  operands.insert(operands.end(), x.begin() + static_cast<int64_t>(n), x.end());
  ReduceWindowParams q = p;
  for (Dims* one : {&q.size, &q.strides, &q.base_dilation, &q.window_dilation})
    one->insert(one->begin(), 1);
  for (Dims* zero : {&q.low, &q.high}) zero->insert(zero->begin(), 0);
  return {bind_op(reduce_window_op, q, operands), std::vector<int>(n, 0)};
}

std::vector<Sample> reduce_window_samples() {
  std::vector<Sample> out;
  auto add = [&](ReduceKind kind, DType dtype, const Shape& shape, const Windows& w) {
    Literal x(float64, shape);
    for (int64_t i = 0; i < x.elements(); ++i)
      x.mutable_data<double>()[i] = static_cast<double>((i * 37) % 23) / 8 - 1;
    out.push_back({.operands = {{dtype, shape}, {dtype, {}}},
                   .params = ReduceWindowParams{w.size, w.strides, w.base_dilation,
                                                w.window_dilation, w.low, w.high, kind},
                   .literals = {convert_literal(x, dtype), reduce_identity(kind, dtype)}});
  };
  auto pool = [](Dims size, Dims strides) {
    Windows w = Windows::of_size(size);
    w.strides = std::move(strides);
    return w;
  };
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin}) {
    add(kind, float32, {2, 8, 6, 4}, pool({1, 2, 2, 1}, {1, 2, 2, 1}));
    add(kind, float32, {2, 4, 8, 6}, pool({1, 1, 3, 2}, {1, 1, 2, 1}));
    add(kind, bfloat16, {4, 9}, pool({1, 3}, {1, 1}));
    Windows w = pool({3, 2}, {2, 1});
    w.window_dilation = {2, 1};
    w.base_dilation = {1, 2};
    w.low = {1, 0};
    w.high = {2, 1};
    add(kind, float32, {6, 5}, w);
    w.low = {-1, 0};
    add(kind, float32, {8, 5}, w);
    add(kind, int32, {8}, pool({4}, {2}));
  }
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProduct, ReduceKind::kMax}) {
    Windows w = Windows::of_size({1, 9, 1});
    w.low = {0, 8, 0};
    add(kind, float32, {2, 9, 4}, w);
    std::swap(w.low, w.high);
    add(kind, float32, {2, 9, 4}, w);
  }
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin})
    add(kind, complex64, {4, 4}, pool({2, 1}, {1, 1}));
  add(ReduceKind::kProduct, float32, {2, 1}, pool({1, 1}, {1, 1}));
  add(ReduceKind::kOr, bool_, {8}, pool({2}, {2}));
  add(ReduceKind::kSum, float32, {0, 4}, pool({2, 1}, {1, 1}));
  return out;
}

ReduceWindowParams params_of(const Windows& w, ReduceKind kind, FunctionRef body = nullptr) {
  return {w.size, w.strides, w.base_dilation, w.window_dilation, w.low,
          w.high, kind,      std::move(body)};
}

}  // namespace

const OpDef& reduce_window_op = define<ReduceWindowParams>({
    .name = "reduce_window",
    .attributes = {"window_dimensions", "window_strides", "base_dilations", "window_dilations",
                   "low", "high", "kind", "body"},
    .infer = infer_reduce_window,
    .evaluate = evaluate_reduce_window,
    .factors = reduce_window_factors,
    .lower = Library{LibraryKind::kCall, reduce_window_call},
    .flops = reduce_window_flops,
    .jvp = {jvp_reduce_window},
    .transpose = {transpose_reduce_window},
    .batch = {batch_reduce_window},
    .samples = reduce_window_samples,
});

namespace {

std::vector<HaloDim> reduce_window_halos(const OpParams& params, std::span<const Type> operands,
                                         std::span<const Type> results) {
  const auto& p = params.as<ReduceWindowParams>();
  std::vector<HaloDim> out;
  for (int64_t d = 0; d < operands[0].rank(); ++d)
    if (!p.windows().trivial(d) && is_local(p, operands[0].shape[d], results[0].shape[d], d))
      out.push_back({.dim = static_cast<int>(d),
                     .result_dim = static_cast<int>(d),
                     .size = window_rows(p, d),
                     .stride = p.strides[d],
                     .low = p.low[d],
                     .base_dilation = p.base_dilation[d]});
  return out;
}

OpParams reduce_window_padded(const OpParams& params, const HaloDim& halo, int64_t low,
                              int64_t high) {
  ReduceWindowParams p = params.as<ReduceWindowParams>();
  p.low[halo.dim] = low;
  p.high[halo.dim] = high;
  return p;
}

[[maybe_unused]] const bool kHalos = register_halo_rule(
    reduce_window_op,
    {.windowed = [](size_t operands) { return operands / 2; },
     .dims = reduce_window_halos,
     .neutral_operand =
         [](const OpParams& params, DType dtype) {
           return Array(reduce_identity(params.as<ReduceWindowParams>().kind, dtype));
         },
     .padded = reduce_window_padded});
[[maybe_unused]] const bool kUnrollsFolds = register_unroll_rule(reduce_window_op, unrolled_fold);

}  // namespace

}  // namespace tessera::ops

namespace tessera {

Windows Windows::of_size(const Dims& size) {
  const Dims ones(size.size(), 1), zeros(size.size(), 0);
  return {size, ones, ones, ones, zeros, zeros};
}

namespace {

// Returns the extent of `extent` elements with `dilation` - 1 positions between neighbours.
int64_t dilated_extent(std::string_view op, int64_t extent, int64_t dilation) {
  return extent == 0 ? 0 : checked_product(op, extent - 1, dilation) + 1;
}

}  // namespace

Shape window_shape(std::string_view op, const Shape& shape, const Windows& w) {
  const int64_t rank = shape.rank();
  for (const auto& [dims, name] :
       {std::pair{&w.size, "window sizes"}, std::pair{&w.strides, "strides"},
        std::pair{&w.base_dilation, "base dilations"},
        std::pair{&w.window_dilation, "window dilations"}}) {
    if (dims->rank() != rank)
      shape_error(op, "expected {} {}, one a dimension of shape {}, got {}", rank, name, shape,
                  *dims);
    if (std::any_of(dims->begin(), dims->end(), [](int64_t v) { return v <= 0; }))
      shape_error(op, "expected {} > 0, got {}", name, *dims);
  }
  if (w.low.rank() != rank || w.high.rank() != rank)
    shape_error(op, "expected {} paddings, one a dimension of shape {}, got {} and {}", rank, shape,
                w.low, w.high);
  Shape out;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t dilated = dilated_extent(op, shape[d], w.base_dilation[d]);
    const int64_t padded = checked_sum(op, dilated, checked_sum(op, w.low[d], w.high[d]));
    const int64_t window = dilated_extent(op, w.size[d], w.window_dilation[d]);
    out.push_back(padded < window ? 0 : (padded - window) / w.strides[d] + 1);
  }
  return out;
}

std::pair<Dims, Dims> same_padding(const Shape& shape, const Windows& w) {
  Dims low, high;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const int64_t dilated = dilated_extent("same_padding", shape[d], w.base_dilation[d]);
    const int64_t window = dilated_extent("same_padding", w.size[d], w.window_dilation[d]);
    const int64_t results = ceil_div(dilated, w.strides[d]);
    const int64_t total = std::max<int64_t>(0, (results - 1) * w.strides[d] + window - dilated);
    low.push_back(total / 2);
    high.push_back(total - total / 2);
  }
  return {low, high};
}  // namespace tessera

namespace tessera::ops {}

}  // namespace tessera

namespace tessera::lax {

using namespace ops;

namespace {

std::vector<Array> bind_windows(std::span<const Array> operands, std::span<const Array> inits,
                                ReduceWindowParams p) {
  SourceScope source("reduce_window");
  std::vector<Array> all(operands.begin(), operands.end());
  all.insert(all.end(), inits.begin(), inits.end());
  return bind_op(reduce_window_op, std::move(p), all);
}

Array cumulate(const char* name, ReduceKind kind, const Array& x, int64_t axis, bool reverse) {
  SourceScope source(name);
  axis = normalize_axis(name, axis, x.ndim());
  if (x.dtype() == bool_)
    type_error(name, "expected numbers, got {}; convert them", describe(x.type()));
  if (x.size() == 0) return x;
  Dims size(x.shape().size(), 1);
  size[axis] = x.shape()[axis];
  Windows w = Windows::of_size(size);
  (reverse ? w.high : w.low)[axis] = x.shape()[axis] - 1;
  return reduce_window_of(kind, x, w);
}

}  // namespace

std::vector<Array> reduce_window(std::span<const Array> operands, std::span<const Array> inits,
                                 ReduceKind kind, const Windows& windows) {
  return bind_windows(operands, inits, params_of(windows, kind));
}

std::vector<Array> reduce_window(std::span<const Array> operands, std::span<const Array> inits,
                                 FunctionRef body, const Windows& windows) {
  // reduce_window, unlike reduce, has the kinds kMin and kMax for complex numbers.
  const bool complex = !operands.empty() && is_complex(operands[0].dtype());
  const ReduceKind kind = complex ? written_kind(*body) : classify_reduce_body(*body);
  return bind_windows(
      operands, inits,
      params_of(windows, kind, kind == ReduceKind::kCustom ? std::move(body) : nullptr));
}

Array reduce_window_of(ReduceKind kind, const Array& x, const Windows& windows) {
  return bind_op1(reduce_window_op, params_of(windows, kind),
                  {x, Array(reduce_identity(kind, x.dtype()))});
}

Array cumsum(const Array& x, int64_t axis, bool reverse) {
  return cumulate("cumsum", ReduceKind::kSum, x, axis, reverse);
}
Array cumprod(const Array& x, int64_t axis, bool reverse) {
  return cumulate("cumprod", ReduceKind::kProduct, x, axis, reverse);
}
Array cummax(const Array& x, int64_t axis, bool reverse) {
  return cumulate("cummax", ReduceKind::kMax, x, axis, reverse);
}
Array cummin(const Array& x, int64_t axis, bool reverse) {
  return cumulate("cummin", ReduceKind::kMin, x, axis, reverse);
}

namespace {

// Returns log(exp(a) + exp(b)).
Array log_add(const Array& a, const Array& b) {
  using namespace array_math;
  if (is_complex(a.dtype())) return log_add_complex(a, b, std::numbers::e);
  // Where both are the same infinity, their difference would be NaN.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Array largest = max(a, b), smallest = min(a, b);
  const Array finite = bitwise_and(gt(smallest, full_like(smallest, -kInfinity)),
                                   lt(largest, full_like(largest, kInfinity)));
  const Array distance = select(finite, smallest - largest, full_like(a, 0));
  return select(finite, largest + log1p(exp(distance)), largest);
}

}  // namespace

Array cumlogsumexp(const Array& x, int64_t axis, bool reverse) {
  SourceScope source("cumlogsumexp");
  axis = normalize_axis("cumlogsumexp", axis, x.ndim());
  if (!is_inexact(x.dtype()))
    type_error("cumlogsumexp", "expected a floating-point or complex array, got {}; convert it",
               describe(x.type()));
  if (x.size() == 0) return x;
  const FoldArrays fold = [](const std::vector<Array>& a, const std::vector<Array>& b) {
    return std::vector<Array>{log_add(a[0], b[0])};
  };
  return associative_scan(fold, {x}, axis, reverse)[0];
}

}  // namespace tessera::lax
