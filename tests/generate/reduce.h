// A smaller program of which the same still holds: what a difference is reported as.
#pragma once

#include <functional>

#include "program.h"

namespace tessera::generate {

// Tries ever smaller programs, greedily, while `differs` holds of them and `seconds` are left.
Case reduce(Case c, const std::function<bool(const Case&)>& differs, double seconds = 60);

}  // namespace tessera::generate
