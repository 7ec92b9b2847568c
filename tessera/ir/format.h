// Types and arrays in fmt's format strings (base/format.h), and what the folders below print: what
// the source files of ir/ and the folders above it say errors with.
#pragma once

#include "tessera/mesh/format.h"

namespace tessera {
class Array;  // numpy/printing.h has its operator<<
}
namespace tessera::ir {
struct Type;
}

template <>
struct fmt::formatter<tessera::Array> : tessera::internal::StreamedFormatter<tessera::Array> {};
template <>
struct fmt::formatter<tessera::ir::Type> : tessera::internal::StreamedFormatter<tessera::ir::Type> {
};
