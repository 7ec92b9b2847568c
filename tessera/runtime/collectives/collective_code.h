// Code for collectives within a process that collectives between processes
// (cross_collective_code.cc) use, too.
#pragma once

#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

inline const Slot& slot_at(const Schedule& s, int i) { return s.slots[static_cast<size_t>(i)]; }

// Returns the product of the extents [begin, end).
inline int64_t product(const Shape& shape, int64_t begin, int64_t end) {
  int64_t n = 1;
  for (int64_t d = begin; d < end; ++d) n *= shape[d];
  return n;
}

}  // namespace tessera::runtime
