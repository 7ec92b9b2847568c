// The canonical form of a kernel: what code is generated from, and whose text is the key of the
// caches.
//
// Before: any verified kernel. After: parallel dims and loop extents that are one run in every
// address are merged, those of extent 1 are gone (one parallel dim stays); dtypes that are only
// moved are unsigned integers of their size; the outermost parallel extent and the sizes of
// buffers, which code does not depend on, are erased. Example: 2 * x of f32[64, 32] and of
// f32[1000] are one kernel, compiled once.
#pragma once

#include "tessera/fusion/kernel.h"

namespace tessera::codegen {

// The outermost parallel extent becomes 0, unless there is but one element. Buffer sizes become 0
// (offsets fit into 31 bits) or 2^31.
Kernel canonical(const Kernel& kernel);

}  // namespace tessera::codegen
