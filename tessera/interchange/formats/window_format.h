// Windows in StableHLO's attributes: window_dimensions, window_strides, ..., padding.
#pragma once

#include "tessera/interchange/op_format.h"
#include "tessera/ops/indexing/indexed_windows.h"
#include "tessera/ops/reductions/reduce_window.h"

namespace tessera::interchange::formats {

TextAttr window_padding(const Dims& low, const Dims& high);
// Reads windows for an array of rank `rank`. Absent attributes mean ones; absent padding means
// zeros.
Windows read_windows(OpReader& reader, int64_t rank);

}  // namespace tessera::interchange::formats
