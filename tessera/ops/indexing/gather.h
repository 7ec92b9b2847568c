// gather: windows of an array at positions that are known at run time, with StableHLO's dimension
// numbers and semantics: if a window would reach outside of the array, its start is moved inside.
#pragma once

#include <optional>

#include "tessera/ir/array.h"
#include "tessera/ops/indexing/index_dims.h"

namespace tessera::ops {

struct IndexedWindows;

struct GatherParams {
  Dims offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims,
      start_index_map;
  int64_t index_vector_dim = 0;
  Shape slice_sizes;
  bool indices_are_sorted = false;
  IndexDims numbers() const {
    return {offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims,
            start_indices_batching_dims};
  }
};
extern const OpDef& gather_op;

IndexedWindows gather_windows(const GatherParams& params, const Shape& operand,
                              const Shape& indices);

}  // namespace tessera::ops

namespace tessera {

// How gather and scatter treat a window that is not inside the array.
enum class IndexMode : uint8_t {
  kFill,             // gather fills it with a value, scatter drops it
  kClip,             // it is moved inside
  kPromiseInBounds,  // there is none; if there is, it is moved inside without a gradient
  kWrap,             // for numpy's functions only: indices count modulo the extent
};

}  // namespace tessera

namespace tessera::lax {

// Returns windows of x of the shape `slice_sizes`, at the starts that `indices` holds. Index
// vectors are along the last dimension of `indices`, as in jax.lax. `fill` is the value of kFill.
// By default it is NaN for floats, the smallest signed integer, the largest unsigned one, or true.
Array gather(const Array& x, const Array& indices, const IndexDims& dims, const Shape& slice_sizes,
             IndexMode mode = IndexMode::kFill, std::optional<double> fill = std::nullopt,
             bool indices_are_sorted = false);

// Returns the elements of x at `indices` along `dim`. The shapes of x and indices differ in that
// dimension alone.
Array take_along(const Array& x, const Array& indices, int64_t dim,
                 IndexMode mode = IndexMode::kPromiseInBounds,
                 std::optional<double> fill = std::nullopt);

// Returns which windows are inside x: bool, of the shape of the indices without the index vectors.
Array windows_inside(const ops::IndexedWindows& windows, const Array& indices);
// Returns the starts, moved such that each window is inside x.
Array clamped_starts(const ops::IndexedWindows& windows, const Array& indices);

}  // namespace tessera::lax
