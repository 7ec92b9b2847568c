// Allocations of the C++ heap on the calling thread: a measure of the work of a compiler that is the
// same on every machine and at every load.
#pragma once

#include <cstdint>

namespace tessera::costs {

struct Allocations {
  int64_t count = 0, bytes = 0;
};

// Returns those of this thread so far; nothing under sanitizers, which have an allocator of their
// own.
Allocations allocations();
// Whether they are counted.
bool counts_allocations();

}  // namespace tessera::costs
