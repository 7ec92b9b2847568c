// A program of JAX as Tessera compiles it: parsed, partitioned, and with the signature that JAX reads
// its shardings from.
#pragma once

#include "plugin/executable.h"

namespace tessera::plugin {

// `code` is StableHLO as JAX sends it, `options` a CompileOptionsProto. UserError and ApiError for
// programs that Tessera does not take.
std::shared_ptr<PJRT_Executable> compile_program(std::string_view code, std::string_view options);
// Its StableHLO. ApiError for other formats.
std::string_view code_of(const PJRT_Program& program);

// What a device holds of an array, as JAX sees it; `parts`: the layout has a leading dimension of
// parts of a sum (parts_of_sums.h).
Shape held_shape(const runtime::ArrayLayout& layout, bool parts);

}  // namespace tessera::plugin
