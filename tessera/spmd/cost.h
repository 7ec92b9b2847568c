// The time of communication on the links between the mesh's devices.
// ops/collectives/collectives_groups.h computes its amount.
//
// For emulated accelerators the figures are those that vendors publish, for CPU devices those of
// mesh/costs.h: the memory of a process, the memory of a host that processes share, the network.
#pragma once

#include <string>

#include "tessera/base/namespaces.h"
#include "tessera/ir/type.h"
#include "tessera/mesh/mesh.h"
#include "tessera/ops/collectives/collectives_groups.h"

namespace tessera::spmd {

// Returns the seconds of a collective in which each device sends `bytes`.
double seconds_of_collective(const Mesh& mesh, const ops::CollectiveInfo& info, int64_t bytes);

// Returns the number of bytes that each device could send during the latency of a message: what a
// step of a plan costs besides its bytes. Plans compare bytes; the result is 512 unless the mesh
// has CPU devices whose links were measured. It is the same for any number of processes of a
// cluster, as plans must be.
int64_t bytes_of_latency(const Mesh& mesh);

// Returns the origin of the figures: "published links of tpu_v4", "built-in figures of CPU
// devices", "measured figures of /root/.config/tessera/costs.json".
std::string figures_of(const Mesh& mesh);

}  // namespace tessera::spmd
