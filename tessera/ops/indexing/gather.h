// gather: windows of an array at positions that are known at run time, with StableHLO's dimension
// numbers and semantics: a start whose window would be outside is moved inside.
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

// What is done with a window that is not inside.
enum class IndexMode : uint8_t {
  kFill,             // gather: filled with a value; scatter: dropped
  kClip,             // moved inside
  kPromiseInBounds,  // there is none; otherwise it is moved inside, and its gradient dropped
  kWrap,             // for numpy's functions only: indices count modulo the extent
};

}  // namespace tessera

namespace tessera::lax {

// The last dimension of `indices` is that of the index vectors, as in jax.lax. `fill` is a number
// of any dtype; if none is given, it is NaN for floats, the smallest integer, the largest unsigned,
// or true.
Array gather(const Array& x, const Array& indices, const IndexDims& dims, const Shape& slice_sizes,
             IndexMode mode = IndexMode::kFill, std::optional<double> fill = std::nullopt,
             bool indices_are_sorted = false);

// Returns the elements along `dim` that `indices` names: x and indices have one shape except for
// that dimension.
Array take_along(const Array& x, const Array& indices, int64_t dim,
                 IndexMode mode = IndexMode::kPromiseInBounds,
                 std::optional<double> fill = std::nullopt);

// Returns which windows are inside, bool: the shape of the indices without their vectors.
Array windows_inside(const ops::IndexedWindows& windows, const Array& indices);
// Returns the starts, moved so that each window is inside.
Array clamped_starts(const ops::IndexedWindows& windows, const Array& indices);

}  // namespace tessera::lax
