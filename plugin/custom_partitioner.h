// Partitioners of users (ops/control/custom_partitioning.h) by PJRT's extension for them: jaxlib hands
// over the callbacks of JAX's custom_partitioning, which get shapes and shardings as messages of
// XLA and return a program for one device.
#pragma once

#include "plugin/pjrt.h"
#include "xla/pjrt/c/pjrt_c_api_custom_partitioner_extension.h"

namespace tessera::plugin {

// Returns the extension; `next` follows it in the list of extensions. Of its callbacks only
// `partition` is called: how shardings spread follows from the rule in the program.
PJRT_Custom_Partitioner_Extension make_custom_partitioner_extension(PJRT_Extension_Base* next);

}  // namespace tessera::plugin
