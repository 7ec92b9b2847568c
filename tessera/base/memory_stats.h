// How much memory the pool of buffers (buffer.h) has, and how much of it it may keep.
#pragma once

#include <cstdint>

namespace tessera {

struct MemoryStats {
  int64_t live_bytes = 0;    // in buffers that have an owner
  int64_t cached_bytes = 0;  // kept by the pool for reuse
  int64_t peak_bytes = 0;    // the largest value of live_bytes so far, to within 64 KiB a thread
};
// Returns what the pool of this process has now.
MemoryStats memory_stats();
// Sets peak_bytes to live_bytes.
void reset_peak_memory();
// Sets how much the pool may keep, and frees what exceeds it. The default is a quarter of the
// machine's memory.
void set_buffer_cache_limit(int64_t bytes);
int64_t buffer_cache_limit();

}  // namespace tessera
