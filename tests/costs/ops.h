// Families of programs of one op: the functions that tests/generate draws from, on arrays of two
// dimensions of which one is the size; and every op of the registry, on its own samples, under vmap
// over so many examples.
#pragma once

#include <string>
#include <vector>

#include "family.h"

namespace tessera::costs {

// One op on rows x 8 and on 8 x columns, and its gradient where it has one. Ops that need the devices
// of a mesh are not among them.
std::vector<Family> families_of_functions();

// What families_of_functions leaves out: functions whose operands are of no use for it.
std::vector<std::string> functions_without_family();

std::vector<Family> families_of_samples();

}  // namespace tessera::costs
