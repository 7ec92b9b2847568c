// Tells users how much memory the pool of buffers (buffer.h) has, and lets them limit how much of
// it the pool keeps after use. Arrays and temporaries of emulated devices are in such buffers.
#pragma once

#include <cstdint>

namespace tessera {

struct MemoryStats {
  int64_t live_bytes = 0;    // bytes of buffers in use
  int64_t cached_bytes = 0;  // bytes that the pool keeps for reuse
  int64_t peak_bytes = 0;    // largest live_bytes so far, to within 64 KiB per thread
};
// Returns the current figures of this process's pool.
MemoryStats memory_stats();
// Sets peak_bytes to live_bytes.
void reset_peak_memory();
// Sets how much the pool may keep, and frees what exceeds it. The default is a quarter of the
// machine's memory.
void set_buffer_cache_limit(int64_t bytes);
int64_t buffer_cache_limit();

}  // namespace tessera
