// What a compiled program takes and returns, for XLA's own structures: jaxlib reads shardings and layouts
// of every executable from an HloModule.
#pragma once

#include <string>

#include "plugin/executable.h"

namespace tessera::plugin {

// An HloModuleProtoWithConfig (xla/xla.proto) of the executable's arguments and results, as one device
// holds them, and their shardings; its computation is a single call. Reading it takes jaxlib some
// microseconds, where the program's text took milliseconds.
std::string signature_proto(const PJRT_Executable& executable);

// The shardings, as the attributes that MHLO gives a module: mhlo.spmd_parameters_shardings and
// mhlo.spmd_output_sharding. Empty where there is neither argument nor result.
std::string sharding_attributes(const PJRT_Executable& executable);

}  // namespace tessera::plugin
