// The time of communication on the links between the mesh's devices. The number of bytes is
// computed by ops/collectives/collectives_groups.h.
//
// For emulated accelerators, the costs are those that vendors publish. For CPU devices they are
// those of mesh/costs.h: the memory of a process, the memory of a host that its processes share,
// the network.
#pragma once

#include <string>

#include "tessera/base/namespaces.h"
#include "tessera/ir/type.h"
#include "tessera/mesh/mesh.h"
#include "tessera/ops/collectives/collectives_groups.h"

namespace tessera::spmd {

// Returns the seconds of a collective in which each device sends `bytes`.
double seconds_of_collective(const Mesh& mesh, const ops::CollectiveInfo& info, int64_t bytes);

// Returns the number of bytes that each device could send during the latency of a message. It is
// the cost of a step of a plan besides its bytes, because plans compare bytes. It is 512 unless the
// mesh has CPU devices with measured links. It is the same for any number of processes in a
// cluster, so that plans are, too.
int64_t bytes_of_latency(const Mesh& mesh);

// Returns where the costs come from: "published links of tpu_v4", "built-in figures of CPU
// devices", "measured figures of /root/.config/tessera/costs.json".
std::string figures_of(const Mesh& mesh);

}  // namespace tessera::spmd
