// Programs of several replicas (pmap of older versions of JAX, and programs of others): each device
// runs the whole program with arguments and results of its own, and collectives are among replicas.
#pragma once

#include "tessera/interchange/text/parser.h"

namespace tessera::plugin {

// Returns the module with a main that runs the module's main in a manual computation over the mesh
// of replicas. Each argument and result has a leading dimension, sharded over that mesh, with what
// each replica holds (device_parts.h).
//
// Requires: the module was read for several replicas (ReadOptions::replicas).
interchange::ParsedModule across_replicas(interchange::ParsedModule module);

}  // namespace tessera::plugin
