// Copies at the speed of memory: in parallel if they are large, and bypassing the caches if they
// are much larger than these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

// Copies of this size or more bypass the caches.
inline constexpr int64_t kStreamingBytes = int64_t{16} << 20;

// Copies `bytes` bytes; the ranges must not overlap.
void copy_bytes(std::byte* dst, const std::byte* src, int64_t bytes);
void fill_zeros(std::byte* dst, int64_t bytes);

// Copies `bytes` bytes in this thread, bypassing the caches. Before other threads may read the
// result, this thread must call stream_fence().
void stream_bytes(std::byte* dst, const std::byte* src, size_t bytes);
void stream_fence();

}  // namespace tessera
