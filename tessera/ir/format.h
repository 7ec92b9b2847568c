// Formatters of types and arrays (base/format.h), and of the folders below. The source files of ir/
// and of the folders above use them in error messages.
#pragma once

#include "tessera/mesh/format.h"

namespace tessera {
class Array;  // numpy/printing.h declares its operator<<
}
namespace tessera::ir {
struct Type;
}

template <>
struct fmt::formatter<tessera::Array> : tessera::internal::StreamedFormatter<tessera::Array> {};
template <>
struct fmt::formatter<tessera::ir::Type> : tessera::internal::StreamedFormatter<tessera::ir::Type> {
};
