// Finds the file and line of the user's call that led to an error (base/error_calls.h), in the
// debug information of the user's program, which LLVM reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tessera/base/namespaces.h"

namespace tessera::codegen {

// Returns `FILE:LINE` of the innermost call in the user's code: outside of this library, and
// neither in a header of Tessera nor in one of the standard library. `calls` has an address in the
// code of each call, the innermost first. Returns an empty text if no call is the user's, or if the
// code of a call that may be the user's was compiled without -g.
std::string place_of_call(std::span<const uintptr_t> calls);

}  // namespace tessera::codegen
