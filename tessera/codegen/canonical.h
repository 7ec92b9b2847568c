// The canonical form of a kernel: code is generated from it, and its text is the key of the caches.
//
// Before: any verified kernel. After: parallel dimensions and loop extents that are contiguous in
// every address are merged; dimensions of extent 1 are removed (one parallel dimension stays); the
// dtypes of elements that are only moved become unsigned integers of their size; the outermost
// parallel extent and the sizes of buffers, on which the code does not depend, are erased. Example:
// 2 * x of f32[64, 32] and of f32[1000] are the same kernel, compiled once. A kernel that
// transposes (is_transposed) keeps its outermost extent: its tiles end with the last row.
#pragma once

#include "tessera/fusion/kernel.h"

namespace tessera::codegen {

// Returns whether neighbouring lanes are far apart and the elements of neighbouring rows, which are
// the parallel dimension before the lanes', side by side. (Lanes up to kMostApart elements apart
// are loaded otherwise: codegen/strided.cc.)
inline constexpr int64_t kMostApart = 9;
bool is_transposed(const Affine& address);

// Returns the kernel in canonical form. The outermost parallel extent becomes 0, unless there is
// only one element or the kernel transposes. Buffer sizes become 0 (offsets fit into 31 bits) or
// 2^31.
Kernel canonical(const Kernel& kernel);

}  // namespace tessera::codegen
