// Reclaimers: functions that free memory which is only kept to save time, such as packed weights
// (runtime/products/packed_weights.h). The pool of buffers (buffer.h) calls them when memory is
// short.
#pragma once

#include <cstdint>

namespace tessera {

// Frees memory until its owner keeps at most `keep` bytes. It may be called on any thread that
// needs memory, and must not allocate buffers (buffer.h) or throw.
using Reclaimer = void (*)(int64_t keep);

// Adds a reclaimer, which is never removed; each owner calls this once. The pool of buffers calls
// it before it reports that the system has no more memory, and when set_buffer_cache_limit() is
// called.
void add_reclaimer(Reclaimer reclaimer);

}  // namespace tessera
