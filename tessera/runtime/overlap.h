// Between localize() and the storage plan: steps in an order in which transfers between processes
// go on while others are computed. Every process of a program orders its part in the same way.
//
// A transfer begins as soon as its operand is there. Steps that read what is still on its way wait
// until nothing else is left to do; then the transfer that began first is waited for.
//
//   %g2 = dot(%d2, %x1)                     %g2 = dot(%d2, %x1)
//   %s2 = all_reduce(%g2)                   %s2 = all_reduce(%g2)
//   %w2' = %w2 - %s2                  ->    %g1 = dot(%d1, %x0)
//   %g1 = dot(%d1, %x0)                     %s1 = all_reduce(%g1)
//   %s1 = all_reduce(%g1)                   %w2' = %w2 - %s2
//   %w1' = %w1 - %s1                        %w1' = %w1 - %s1
//
// The arrays of one collective that have at most cluster::kInOneMessage bytes begin together, and are one message to each process.
//
// What is on its way is bounded: kOnTheirWay bytes of results, or one transfer.
#pragma once

#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

inline constexpr int64_t kMaxBytesInFlight = int64_t{256} << 20;

// Returns the schedule of one process in that order, its loops and branches too. It also finds out
// which collectives cross, and what memory these need.
Schedule overlap_transfers(Schedule schedule);

}  // namespace tessera::runtime
