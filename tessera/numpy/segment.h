// Folds of the rows of an array into segments, which an integer array of ids names, as in jax.ops.
//   segment_sum(x, ids, 3);      // rows 0, 1, 2: the sums of x's rows whose id is 0, 1, 2
//
// Ids outside of [0, num_segments), negative ones too, are dropped. A segment without rows has the
// identity of the fold: 0, 1, or the smallest or largest value of the dtype. Without num_segments
// there is one segment for each id up to the largest, so the ids must be known: it throws UserError
// under jit.
//
// All functions throw UserError for a scalar, for ids that are not one integer for each row, for a
// negative num_segments and for a bucket_size that is not positive.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/numpy/axes.h"
#include "tessera/ops/indexing/gather.h"

namespace tessera {

struct SegmentOptions {
  bool indices_are_sorted = false;
  bool unique_indices = false;  // no segment has two rows; needed to differentiate segment_prod
  // Folds each run of this many rows separately, and then the runs, so that sums round less.
  OrNone<int64_t> bucket_size = None;
  IndexMode mode = IndexMode::kFill;  // kClip: ids outside count as the nearest segment
};
Array segment_sum(const Array& x, const Array& segment_ids, OrNone<int64_t> num_segments = None,
                  const SegmentOptions& options = {});
Array segment_prod(const Array& x, const Array& segment_ids, OrNone<int64_t> num_segments = None,
                   const SegmentOptions& options = {});
// A NaN in a segment makes its result NaN.
Array segment_max(const Array& x, const Array& segment_ids, OrNone<int64_t> num_segments = None,
                  const SegmentOptions& options = {});
Array segment_min(const Array& x, const Array& segment_ids, OrNone<int64_t> num_segments = None,
                  const SegmentOptions& options = {});

}  // namespace tessera
