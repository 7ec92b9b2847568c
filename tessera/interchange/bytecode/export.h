// What jax.export's Exported.serialize() gives: a flatbuffer with the artifact in one of its fields.
#pragma once

#include <string_view>

namespace tessera::interchange::bytecode {

// The artifact in these bytes, empty if they are no such thing.
std::string_view artifact_of_export(std::string_view bytes);

}  // namespace tessera::interchange::bytecode
