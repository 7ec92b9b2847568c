// Joins several exchanges: in each round, a process gets one message with the data of all of them.
// This is for small messages, which take as long as their latency.
#pragma once

#include <vector>

#include "tessera/cluster/processes.h"

namespace tessera::cluster {

// The most bytes that are copied into a joint message: such a copy costs no more than a message of
// its own.
inline constexpr int64_t kInOneMessage = int64_t{64} << 10;

// Returns the rounds of all `members` together, until the last of them has ended. The messages of a
// round between two processes are copied into one, except those above kInOneMessage bytes, which
// are sent from and received into their own memory. Other processes must join the same exchanges in
// the same order.
Rounds joined_rounds(std::vector<Rounds> members);

}  // namespace tessera::cluster
