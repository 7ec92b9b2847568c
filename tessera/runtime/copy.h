// Copies of regions: boxes of bytes between row-major arrays, split into tasks. Resharding and
// collectives use them.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/base/parallel_copy.h"
#include "tessera/base/shape.h"

namespace tessera::runtime {

// The layout of a box of elements in its destination and in its source: runs of `run` contiguous
// bytes in both, repeated along `extents`.
struct CopyPattern {
  Dims extents, dst_strides, src_strides;  // of runs; strides are in bytes
  int64_t run = 0;                         // 0: nothing to copy
  int64_t runs() const { return run == 0 ? 0 : extents.elements(); }
  int64_t bytes() const { return run * runs(); }
};
// Returns the pattern of a box of shape `extents` with the given strides in bytes. Dimensions that
// are contiguous on both sides are merged.
CopyPattern make_copy_pattern(const Shape& extents, const Dims& dst_strides,
                              const Dims& src_strides, int64_t itemsize);
// Returns the row-major strides of an array of `shape`, in bytes.
Dims byte_strides(const Shape& shape, int64_t itemsize);

// A pattern is copied in pieces of about `kCopyGrain` bytes: call copy_piece for each of
// copy_pieces().
inline constexpr int64_t kCopyGrain = int64_t{128} << 10;
int64_t copy_pieces(const CopyPattern& pattern);
// `streaming` bypasses the caches, for results that are much larger than these.
void copy_piece(const CopyPattern& pattern, std::byte* dst, const std::byte* src, int64_t piece,
                bool streaming);
void copy_all(const CopyPattern& pattern, std::byte* dst, const std::byte* src);

struct RegionCopy {
  CopyPattern pattern;
  std::byte* dst;
  const std::byte* src;
};
// Runs all copies in parallel. The destinations must not overlap.
void run_copies(const std::vector<RegionCopy>& copies);

}  // namespace tessera::runtime
