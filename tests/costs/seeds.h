// Families of the programs of tests/generate: one program, made larger along an axis.
#pragma once

#include <vector>

#include "family.h"
#include "tests/generate/program.h"

namespace tessera::costs {

enum class Axis : uint8_t {
  kRows,    // under vmap, over so many examples
  kTrips,   // its loops run so many times as long
  kDepth,   // within so many loops, branches and transforms within each other
  kOps,     // so many times one after the other, each on what the last one changed
  kLeaves,  // so many times on arguments of their own
  kShapes,  // once of each of so many sizes
};
inline constexpr Axis kAxes[] = {Axis::kRows, Axis::kTrips,  Axis::kDepth,
                                 Axis::kOps,  Axis::kLeaves, Axis::kShapes};
const char* name_of(Axis axis);

// The program, or the gradient of a scalar of it, whose work is then that of the program itself: a
// gradient is worth a constant number of values.
Family family_of(const generate::Case& c, Axis axis, bool gradient);

// Two or three families of a seed's program, as its number says.
std::vector<Family> families_of(const generate::Case& c);

}  // namespace tessera::costs
