// Several exchanges as one: in each round a process gets one message with what all of them send to
// it. This is for small messages, whose time is their latency.
#pragma once

#include <vector>

#include "tessera/cluster/processes.h"

namespace tessera::cluster {

// Up to this size a copy costs no more than a message of its own.
inline constexpr int64_t kInOneMessage = int64_t{64} << 10;

// Returns the rounds of all `members` together, until the last of them has ended. The messages of a
// round between two processes are copied into one, except those above kInOneMessage bytes, which
// are sent from and received into their own memory. Other processes must join the same exchanges in
// the same order.
Rounds joined_rounds(std::vector<Rounds> members);

}  // namespace tessera::cluster
