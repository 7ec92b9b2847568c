// A program as C++ source against tessera.h, which compiles and shows the difference.
#pragma once

#include "checks.h"

namespace tessera::generate {

// The function alone: `[&](const Arrays& in) -> Arrays {...}`, indented by `indent`.
std::string function_source(const Case& c, int indent = 2);
// A whole program: mesh, arguments, function and the call that `check` makes.
std::string program_source(const Case& c, const Difference& difference);

}  // namespace tessera::generate
