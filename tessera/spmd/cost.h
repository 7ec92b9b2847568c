// How long communication takes on the links between the mesh's devices; how much it is says
// ops/collectives/collectives_groups.h.
//
// Of emulated accelerators the links are those that vendors publish, of CPU devices those of
// mesh/costs.h: the memory of a process, the memory of a host that processes share, the network.
#pragma once

#include <string>

#include "tessera/base/namespaces.h"
#include "tessera/ir/type.h"
#include "tessera/mesh/mesh.h"
#include "tessera/ops/collectives/collectives_groups.h"

namespace tessera::spmd {

// Seconds that a collective takes in which each device sends `bytes`.
double seconds_of_collective(const Mesh& mesh, const ops::CollectiveInfo& info, int64_t bytes);

// As many bytes, sent by each device, as take as long as a message's latency: what a plan's step
// costs beside its bytes. Plans compare bytes; 512 unless the mesh is of CPU devices whose links
// were measured. It is the same for any number of processes of a cluster, as plans must be.
int64_t bytes_of_latency(const Mesh& mesh);

// Whose links the seconds are of: "published links of tpu_v4", "built-in figures of CPU devices", "measured
// figures of /root/.config/tessera/costs.json".
std::string figures_of(const Mesh& mesh);

}  // namespace tessera::spmd
