// How the processes of a client find each other: by the key-value store of who creates it, which is
// JAX after jax.distributed.initialize.
#pragma once

#include "plugin/client.h"
#include "tessera/cluster/rendezvous.h"

namespace tessera::plugin {

// Returns the rendezvous of process `request.node` of `request.nodes`. It lives no longer than the
// creation of the client. Throws ApiError if there is no store, or if processes have different
// versions of Tessera.
cluster::Rendezvous rendezvous_of(const PJRT_Client_Create_Args& a, const ClientRequest& request);

}  // namespace tessera::plugin

// Ends this process' part in its cluster (tessera/cluster/rendezvous.h); called by Python before
// JAX's own end (jax_plugins.tessera.processes).
extern "C" __attribute__((visibility("default"))) bool tessera_leave_cluster();
