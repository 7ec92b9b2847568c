// Windows as StableHLO's attributes: window_dimensions, window_strides, ..., padding.
#pragma once

#include "tessera/ir/op_format.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/ops/reductions/reduce_window.h"

namespace tessera::ops::formats {

TextAttr window_padding(const Dims& low, const Dims& high);
// Absent attributes are ones, absent padding zeros. `rank`: of the array.
Windows read_windows(OpReader& reader, int64_t rank);
OpFormat reduce_window();
OpFormat select_and_scatter();

}  // namespace tessera::ops::formats
