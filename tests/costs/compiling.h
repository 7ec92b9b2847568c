// Programs with long compilations: families whose text grows with their size, up to the sizes that
// a compiler must handle.
#pragma once

#include <vector>

#include "family.h"

namespace tessera::costs {

// 5,000 ops in a row, 2,000 leaves, 500 layers unrolled under a gradient, scans six deep under a
// gradient, vmaps eight deep, 1,000 shapes; `size` is an eighth of these numbers, and 1 for
// families of nested programs.
std::vector<Family> families_of_compiling();

}  // namespace tessera::costs
