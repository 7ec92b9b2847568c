// The output of jax.export's Exported.serialize(): a flatbuffer that has the artifact in one of its
// fields.
#pragma once

#include <string_view>

#include "tessera/base/namespaces.h"

namespace tessera::interchange::bytecode {

// Returns the artifact in these bytes, or nothing if they are no such output.
std::string_view artifact_of_export(std::string_view bytes);

}  // namespace tessera::interchange::bytecode
