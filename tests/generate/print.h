// Writes a program as C++ source that uses tessera.h, compiles, and shows the difference.
#pragma once

#include "checks.h"

namespace tessera::generate {

// Returns the function alone, `[&](const Arrays& in) -> Arrays {...}`, indented by `indent`.
std::string function_source(const Case& c, int indent = 2);
// Returns a whole program: mesh, arguments, function and the call that the check makes.
std::string program_source(const Case& c, const Difference& difference);

}  // namespace tessera::generate
