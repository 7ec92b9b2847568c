// Sends a secret from process 0 to all others. joint_step.h returns strings, of which copies remain
// in memory.
#pragma once

#include <cstddef>
#include <span>

#include "tessera/cluster/processes.h"

namespace tessera::cluster {

// Replaces the bytes of all processes of a cluster by those of process 0. All call it with as many
// bytes; a process that is alone keeps its own. Throws UserError if another process passes another
// `what`, or is at another call.
void broadcast(Processes& processes, std::span<std::byte> bytes, const Processes::What& what);
void broadcast(std::span<std::byte> bytes, const Processes::What& what);

}  // namespace tessera::cluster
