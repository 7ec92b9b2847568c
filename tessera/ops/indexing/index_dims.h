// IndexDims: which dimensions of an operand and of indices gather and scatter mean, as users name
// them.
#pragma once

#include "tessera/base/shape.h"

namespace tessera {

// StableHLO's dimension numbers under gather's names; scatter's mean the same.
struct IndexDims {
  Dims offset_dims;           // of windows: the window dimensions (scatter: update_window_dims)
  Dims collapsed_slice_dims;  // of the operand: extent 1 in a window, missing in windows
  Dims start_index_map;       // of the operand: what each entry of an index vector is a start in
  Dims operand_batching_dims = {};  // of the operand: walked together with those of the indices
  Dims start_indices_batching_dims = {};
};

}  // namespace tessera
