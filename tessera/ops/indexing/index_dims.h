// IndexDims: the dimensions of an operand and of indices in gather and scatter, as users name them.
#pragma once

#include "tessera/base/shape.h"

namespace tessera {

// StableHLO's dimension numbers under their names in gather. They have the same meaning for
// scatter.
struct IndexDims {
  Dims offset_dims;           // of windows: the window dimensions (scatter: update_window_dims)
  Dims collapsed_slice_dims;  // of the operand: extent 1 in a window, missing in windows
  // of the operand: entry i of an index vector is the start in dimension start_index_map[i]
  Dims start_index_map;
  Dims operand_batching_dims = {};  // of the operand: paired with those of the indices
  Dims start_indices_batching_dims = {};
};

}  // namespace tessera
