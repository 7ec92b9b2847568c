// Region copies: boxes of bytes between row-major arrays, split into tasks. What resharding and the
// collectives are made of.
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/base/shape.h"

namespace tessera::runtime {

// How a box of elements lies in its destination and in its source: `run` contiguous bytes in both,
// repeated along `extents`.
struct CopyPattern {
  Dims extents, dst_strides, src_strides;  // of the runs; strides in bytes
  int64_t run = 0;                         // 0: nothing to copy
  int64_t runs() const { return run == 0 ? 0 : extents.elements(); }
  int64_t bytes() const { return run * runs(); }
};
// A box of shape `extents` whose strides are given in bytes. Dimensions that are contiguous on both
// sides are joined.
CopyPattern make_copy_pattern(const Shape& extents, const Dims& dst_strides,
                              const Dims& src_strides, int64_t itemsize);
// Row-major strides of an array of `shape`, in bytes.
Dims byte_strides(const Shape& shape, int64_t itemsize);

// The pattern cut into pieces of about `kCopyGrain` bytes: pieces(), then copy_piece for each.
inline constexpr int64_t kCopyGrain = int64_t{128} << 10;
int64_t copy_pieces(const CopyPattern& pattern);
// `streaming`: past the caches, for results much larger than these.
void copy_piece(const CopyPattern& pattern, std::byte* dst, const std::byte* src, int64_t piece,
                bool streaming);
void copy_all(const CopyPattern& pattern, std::byte* dst, const std::byte* src);
// Bytes from which a copy goes past the caches.
inline constexpr int64_t kStreamingBytes = int64_t{16} << 20;

struct RegionCopy {
  CopyPattern pattern;
  std::byte* dst;
  const std::byte* src;
};
// All of them, in parallel. The destinations must not overlap.
void run_copies(const std::vector<RegionCopy>& copies);

}  // namespace tessera::runtime
