// The sizes of a routine's own memory (routine.h), which its emitter and the plan of its workspace
// agree on.
#pragma once

#include "tessera/base/shape.h"
#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

// Values of more bytes are in the workspace, and a carry of more bytes is not copied between trips.
inline constexpr int64_t kStackBytes = 256;

inline int64_t padded_bytes(int64_t bytes) { return ceil_div(bytes, kPaddedBytes) * kPaddedBytes; }

}  // namespace tessera::codegen
