// Families of the programs of tests/generate: one program, made larger along an axis.
#pragma once

#include <vector>

#include "family.h"
#include "tests/generate/program.h"

namespace tessera::costs {

enum class Axis : uint8_t {
  kRows,    // under vmap, over `size` examples
  kTrips,   // each loop makes `size` times as many iterations
  kDepth,   // within `size` nested loops, branches and calls
  kOps,     // `size` times in a row, each on changed results of the last
  kLeaves,  // `size` times, each on its own arguments
  kShapes,  // once for each of `size` shapes
};
inline constexpr Axis kAxes[] = {Axis::kRows, Axis::kTrips,  Axis::kDepth,
                                 Axis::kOps,  Axis::kLeaves, Axis::kShapes};
const char* name_of(Axis axis);

// Returns the family of the program, or of the gradient of a scalar of it. The work of a gradient
// is that of the program itself, because a gradient may cost a constant multiple of it.
Family family_of(const generate::Case& c, Axis axis, bool gradient);

// Returns two families of a seed's program. The seed determines their axes.
std::vector<Family> families_of(const generate::Case& c);

}  // namespace tessera::costs
