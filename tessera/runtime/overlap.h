// Reorders steps such that transfers between processes overlap with computation. It runs between
// localize() and the storage plan. Every process of a program orders its part in the same way.
//
// A transfer begins as soon as its operand is ready. Steps that read the result of a transfer in
// progress wait until nothing else can be done. Then the program waits for the transfer that began
// first.
//
//   %g2 = dot(%d2, %x1)                     %g2 = dot(%d2, %x1)
//   %s2 = all_reduce(%g2)                   %s2 = all_reduce(%g2)
//   %w2' = %w2 - %s2                  ->    %g1 = dot(%d1, %x0)
//   %g1 = dot(%d1, %x0)                     %s1 = all_reduce(%g1)
//   %s1 = all_reduce(%g1)                   %w2' = %w2 - %s2
//   %w1' = %w1 - %s1                        %w1' = %w1 - %s1
//
// Arrays of one collective that have at most cluster::kInOneMessage bytes are sent together, as one
// message to each process.
//
// Transfers are limited to kMaxBytesInFlight bytes of results at a time, or to one transfer.
#pragma once

#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

inline constexpr int64_t kMaxBytesInFlight = int64_t{256} << 20;

// Returns the schedule of one process in that order, including its loops and branches. It also sets
// which collectives cross processes, and the memory that these need.
Schedule overlap_transfers(Schedule schedule);

}  // namespace tessera::runtime
