// IndexDims: the dimensions of an operand and of indices in gather and scatter, as users name them.
#pragma once

#include "tessera/base/shape.h"

namespace tessera {

// StableHLO's dimension numbers under their names in gather. They have the same meaning for
// scatter.
struct IndexDims {
  Dims offset_dims;           // dimensions of windows (update_window_dims of scatter)
  Dims collapsed_slice_dims;  // operand dimensions that windows lack (extent 1)
  // Entry i of an index vector is the start in operand dimension start_index_map[i].
  Dims start_index_map;
  Dims operand_batching_dims = {};  // operand dimensions paired with those of indices
  Dims start_indices_batching_dims = {};
};

}  // namespace tessera
