#include "tessera/numpy/segment.h"

#include <algorithm>

#include "tessera/compile/composite.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/indexing/scatter.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera {

using namespace ops;

namespace {

struct SegmentFold {
  ScatterKind kind;
  ReduceKind identity;
  Array (*runs)(const Array&);  // folds the first dimension
};

struct SegmentParams {
  int64_t num_segments = 0;
  bool indices_are_sorted = false, unique_indices = false;
  int64_t bucket_size = 0;  // 0: none
  IndexMode mode = IndexMode::kFill;
};

void expect_rows(const char* name, const Array& x, const Array& ids) {
  if (x.ndim() == 0 || ids.shape() != Shape{x.shape()[0]})
    shape_error(name,
                "expected an array and one segment id for each of its rows, got {} and {}; reshape "
                "the array so that the ids are along its first dimension",
                describe(x.type()), describe(ids.type()));
  if (!is_integer(ids.dtype()))
    type_error(name, "expected integer segment ids, got {}; convert them", describe(ids.type()));
}

int64_t largest(const char* name, const Array& ids) {
  if (ids.is_tracer())
    value_error(name,
                "expected num_segments for traced segment ids, since the result's shape depends on "
                "it, got none; pass it as the third argument");
  if (ids.size() == 0)
    value_error(name, "expected num_segments for an empty array of segment ids, got none");
  const Literal host = convert_literal(ids.to_host(), int64);
  return *std::max_element(host.data<int64_t>(), host.data<int64_t>() + host.elements());
}

SegmentParams params_of(const char* name, const Array& ids, OrNone<int64_t> num_segments,
                        const SegmentOptions& options) {
  const int64_t count = num_segments ? *num_segments : largest(name, ids) + 1;
  if (count < 0) value_error(name, "expected num_segments of 0 or more, got {}", count);
  if (options.bucket_size && *options.bucket_size <= 0)
    value_error(name, "expected a bucket_size of 1 or more, got {}", *options.bucket_size);
  return {count, options.indices_are_sorted, options.unique_indices,
          options.bucket_size.value_or(0), options.mode};
}

// Returns `count` rows, each the fold of the rows of x with that id.
Array scattered(const Array& x, const Array& ids, int64_t count, const SegmentFold& fold,
                const lax::ScatterOptions& options) {
  Shape shape = x.shape();
  shape[0] = count;
  const Array nothing = lax::full(shape, reduce_identity(fold.identity, x.dtype()));
  IndexDims dims{.offset_dims = {}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
  for (int64_t d = 1; d < x.ndim(); ++d) dims.offset_dims.push_back(d);
  return lax::scatter(nothing, lax::expand_dims(ids, {1}), x, dims, fold.kind, options);
}

// Folds each run of bucket_size rows into segments of its own, and then folds the runs.
Array in_buckets(const Array& x, const Array& segment_ids, const SegmentParams& p,
                 const SegmentFold& fold, const lax::ScatterOptions& options) {
  const int64_t rows = x.shape()[0], n = p.num_segments;
  const int64_t buckets = std::max<int64_t>(1, (rows + p.bucket_size - 1) / p.bucket_size);
  // Ids count buckets * n segments: int64 if int32 cannot.
  const DType dtype = buckets * n < (int64_t{1} << 31) ? int32 : int64;
  Array ids = lax::convert_element_type(segment_ids, dtype);
  const auto constant = [&](int64_t value) {
    return lax::full_like(ids, static_cast<double>(value));
  };
  if (options.mode == IndexMode::kClip) ids = lax::max(constant(0), lax::min(ids, constant(n - 1)));
  const Array bucket = lax::div(lax::iota(dtype, {rows}, 0), constant(p.bucket_size));
  const Array inside = lax::bitwise_and(lax::ge(ids, constant(0)), lax::lt(ids, constant(n)));
  const Array own = lax::add(lax::mul(bucket, constant(n)), ids);
  lax::ScatterOptions apart = options;
  apart.indices_are_sorted = false;
  apart.mode = IndexMode::kFill;
  const Array all = scattered(x, lax::select(inside, own, constant(-1)), buckets * n, fold, apart);
  Shape shape = x.shape();
  shape[0] = n;
  shape.insert(shape.begin(), buckets);
  return lax::convert_element_type(fold.runs(lax::reshape(all, shape)), x.dtype());
}

Array segments(const char* name, const SegmentFold& fold, const Array& x, const Array& ids,
               OrNone<int64_t> num_segments, const SegmentOptions& options) {
  expect_rows(name, x, ids);
  const bool adds = fold.kind == ScatterKind::kAdd || fold.kind == ScatterKind::kMul;
  if (adds && x.dtype() == bool_)
    type_error(name, "expected numbers, got {}; convert it to int32, or use segment_{}",
               describe(x.type()), fold.kind == ScatterKind::kAdd ? "max" : "min");
  if (!adds) elementwise::expect_real(name, x);
  const SegmentParams p = params_of(name, ids, num_segments, options);
  struct FoldParams {
    SegmentFold fold;
    SegmentParams segments;
  };
  return composite(
      name, FoldParams{fold, p}, {x, ids}, [](const FoldParams& f, std::span<const Array> a) {
        const SegmentParams& p = f.segments;
        const lax::ScatterOptions scatter{p.mode, p.indices_are_sorted, p.unique_indices};
        return p.bucket_size > 0 ? in_buckets(a[0], a[1], p, f.fold, scatter)
                                 : scattered(a[0], a[1], p.num_segments, f.fold, scatter);
      });
}

}  // namespace

Array segment_sum(const Array& x, const Array& segment_ids, OrNone<int64_t> num_segments,
                  const SegmentOptions& options) {
  return segments(
      "segment_sum",
      {ScatterKind::kAdd, ReduceKind::kSum, [](const Array& y) { return sum(y, {.axis = 0}); }}, x,
      segment_ids, num_segments, options);
}
Array segment_prod(const Array& x, const Array& segment_ids, OrNone<int64_t> num_segments,
                   const SegmentOptions& options) {
  return segments("segment_prod",
                  {ScatterKind::kMul, ReduceKind::kProduct,
                   [](const Array& y) { return prod(y, {.axis = 0}); }},
                  x, segment_ids, num_segments, options);
}
Array segment_max(const Array& x, const Array& segment_ids, OrNone<int64_t> num_segments,
                  const SegmentOptions& options) {
  return segments(
      "segment_max",
      {ScatterKind::kMax, ReduceKind::kMax, [](const Array& y) { return max(y, {.axis = 0}); }}, x,
      segment_ids, num_segments, options);
}
Array segment_min(const Array& x, const Array& segment_ids, OrNone<int64_t> num_segments,
                  const SegmentOptions& options) {
  return segments(
      "segment_min",
      {ScatterKind::kMin, ReduceKind::kMin, [](const Array& y) { return min(y, {.axis = 0}); }}, x,
      segment_ids, num_segments, options);
}

}  // namespace tessera
