// Several exchanges as one: what they tell a process in a round goes to it in one message. For small
// ones, whose messages take as long as their latency.
#pragma once

#include <vector>

#include "tessera/cluster/processes.h"

namespace tessera::cluster {

// Up to here a copy costs no more than a message of its own.
inline constexpr int64_t kInOneMessage = int64_t{64} << 10;

// Round after round of all `members` together, until the last of them is over. The messages of a
// round between two processes are copied into one, but those above kInOneMessage bytes, which go from
// and to where they lie. Other processes join the same exchanges in the same order.
Rounds joined_rounds(std::vector<Rounds> members);

}  // namespace tessera::cluster
