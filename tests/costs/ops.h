// Families of programs of one op: the functions of tests/generate, on arrays of two dimensions one
// of which is the size; and every op of the registry, on its own samples, under vmap over `size`
// examples.
#pragma once

#include <string>
#include <vector>

#include "family.h"

namespace tessera::costs {

// Returns the families of one op on rows x 8 and on 8 x columns, and of its gradient if it has one.
// Ops that need the devices of a mesh are left out.
std::vector<Family> families_of_functions();

// Returns the functions that families_of_functions leaves out because it has no suitable operands.
std::vector<std::string> functions_without_family();

std::vector<Family> families_of_samples();

}  // namespace tessera::costs
