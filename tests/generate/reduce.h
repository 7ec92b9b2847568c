// Finds a smaller program with the same difference, which is then reported.
#pragma once

#include <functional>

#include "program.h"

namespace tessera::generate {

// Returns a smaller case for which `differs` still holds, found by greedy edits until `seconds`
// have passed.
Case reduce(Case c, const std::function<bool(const Case&)>& differs, double seconds = 60);

}  // namespace tessera::generate
