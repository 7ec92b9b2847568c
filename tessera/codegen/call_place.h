// The file and line of the user's call that an error is about (base/error_calls.h), from the debug
// information of the user's program. LLVM reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tessera/base/namespaces.h"

namespace tessera::codegen {

// Returns `FILE:LINE` of the innermost of the calls that is the user's: in another file than this
// library, and neither in a header of Tessera nor in one of the standard library. Returns an empty
// text if there is none, or if the file that has it was compiled without -g. `calls`: an address in
// the code of each, the innermost first.
std::string place_of_call(std::span<const uintptr_t> calls);

}  // namespace tessera::codegen
