// Compiles a program of JAX: parses it, partitions it, and gives it the signature from which JAX
// reads its shardings.
#pragma once

#include "plugin/executable.h"

namespace tessera::plugin {

// Returns the executable. `code` is StableHLO as JAX passes it, `options` a CompileOptionsProto.
// Throws UserError and ApiError for programs that Tessera does not support.
std::shared_ptr<PJRT_Executable> compile_program(std::string_view code, std::string_view options);
// Returns the program's StableHLO. Throws ApiError for other formats.
std::string_view code_of(const PJRT_Program& program);

// Returns the shape in memory of what a device holds of an array. `parts`: the layout has a leading
// dimension for what each device holds (device_parts.h).
Shape held_shape(const runtime::ArrayLayout& layout, bool parts);

}  // namespace tessera::plugin
