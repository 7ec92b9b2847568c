// What process 0 tells all others, for what must not be in any text: joint_step.h gives strings, of
// which there are copies.
#pragma once

#include <cstddef>
#include <span>

#include "tessera/cluster/processes.h"

namespace tessera::cluster {

// Makes the bytes of process 0 those of all processes of a cluster, which all call it with as many;
// a process that is alone keeps its own. UserError if another process says another `what`, or is at
// another call.
void broadcast(Processes& processes, std::span<std::byte> bytes, const Processes::What& what);
void broadcast(std::span<std::byte> bytes, const Processes::What& what);

}  // namespace tessera::cluster
