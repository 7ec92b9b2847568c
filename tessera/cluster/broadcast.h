// Sends a secret from process 0 to all others. (A joint step returns strings, copies of which
// remain in memory.)
#pragma once

#include <cstddef>
#include <span>

#include "tessera/cluster/processes.h"

namespace tessera::cluster {

// Replaces the bytes of all processes of a cluster by those of process 0. All call it with the same
// number of bytes; a process without others keeps its bytes. Throws UserError if another process
// passes another `what`, or makes another call.
void broadcast(Processes& processes, std::span<std::byte> bytes, const Processes::What& what);
void broadcast(std::span<std::byte> bytes, const Processes::What& what);

}  // namespace tessera::cluster
