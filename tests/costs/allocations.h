// Allocations of the C++ heap on the calling thread: they measure the work of a compiler, and are
// the same on every machine and under every load.
#pragma once

#include <cstdint>

namespace tessera::costs {

struct Allocations {
  int64_t count = 0, bytes = 0;
};

// Returns the allocations of this thread so far; zeros under sanitizers, which have an allocator of
// their own.
Allocations allocations();
// Returns whether allocations are counted.
bool counts_allocations();

}  // namespace tessera::costs
