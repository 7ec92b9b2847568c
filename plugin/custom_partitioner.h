// Users' partitioners (ops/control/custom_partitioning.h), by PJRT's extension for them: jaxlib
// passes the callbacks of JAX's custom_partitioning. They take shapes and shardings as XLA's
// messages, and return a program for one device.
#pragma once

#include "plugin/pjrt.h"
#include "xla/pjrt/c/pjrt_c_api_custom_partitioner_extension.h"

namespace tessera::plugin {

// Returns the extension, which `next` follows in the list of extensions. Only the callback
// `partition` is called: how shardings spread follows from the rule in the program.
PJRT_Custom_Partitioner_Extension make_custom_partitioner_extension(PJRT_Extension_Base* next);

}  // namespace tessera::plugin
