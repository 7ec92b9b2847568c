// The processes of a client find each other by the key-value store of the client's creator, which
// is JAX after jax.distributed.initialize.
#pragma once

#include "plugin/client.h"
#include "tessera/cluster/rendezvous.h"

namespace tessera::plugin {

// Returns the rendezvous of process `request.node` of `request.nodes`, for use while the client is
// created. Throws ApiError if there is no store, or if processes have different versions of
// Tessera.
cluster::Rendezvous rendezvous_of(const PJRT_Client_Create_Args& a, const ClientRequest& request);

}  // namespace tessera::plugin

// Ends this process's part in its cluster (tessera/cluster/rendezvous.h). Python calls it before
// JAX itself ends (jax_plugins.tessera.processes).
extern "C" __attribute__((visibility("default"))) bool tessera_leave_cluster();
