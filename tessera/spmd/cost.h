// How long communication takes on the links of the mesh's devices; how much it is says
// ops/collectives/collectives_groups.h.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/mesh/mesh.h"

namespace tessera::spmd {

// Seconds for sending `bytes` from every device of the mesh at once: latency a message and
// bandwidth of the device's links.
double seconds_to_send(const Mesh& mesh, int64_t bytes, int64_t messages);

}  // namespace tessera::spmd
